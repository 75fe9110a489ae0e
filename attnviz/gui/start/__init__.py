"""The start page: where to begin, what was open last, and all presets as pictures."""
