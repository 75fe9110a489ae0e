"""Numbers of a document that change along their gradient, one step at a time."""
