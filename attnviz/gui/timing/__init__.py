"""The window's own clock: from an edit to the end of its paint, between workspaces, and to the first frame.

Each is a program of its own, so that who measures needs no Qt and every measurement starts afresh:
`python -m attnviz.gui.timing edits N HEADS D_HEAD COUNT`, `… switches COUNT` or `… start`. The answer is one
line of JSON on stdout.
"""
