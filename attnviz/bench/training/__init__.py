"""The bench of training: a step over many sequences, beside a plain one in NumPy and eager torch."""
