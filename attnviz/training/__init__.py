"""Numbers of a document that change along their gradient: single steps, and batches of sequences."""
