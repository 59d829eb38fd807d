"""PRIVATE: the writers of this app's rows, called inside the write path's transaction."""
