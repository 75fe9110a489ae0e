"""Documents as Python: scripts that recompute them with NumPy or PyTorch alone, and notebooks of the same.

`stage_code` gives the lines of one stage, `script` a whole program, `notebook` its cells.
"""
