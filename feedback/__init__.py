"""What people and evaluators think of turns, messages, artifacts and threads, as typed feedback."""
