"""What the surfaces of every app share: who the caller is, how errors are said, pages."""
