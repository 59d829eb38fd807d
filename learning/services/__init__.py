"""The doors of the learning half, for Django code and for every surface alike."""
