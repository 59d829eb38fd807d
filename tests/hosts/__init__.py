"""The wheel in other people's projects: built, installed into a fresh environment, used."""
