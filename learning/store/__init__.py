"""PRIVATE: the one writer of the learning half's rows. Its services call it, nobody else."""
