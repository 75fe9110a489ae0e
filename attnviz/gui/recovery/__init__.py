"""Nothing is lost: the journal of the window, its restoring, and files that others change."""
