"""The journal of edits: what survives the end of the process."""
