"""Gradients as values: the number whose gradient is wanted, and the gradients in the shape of a trace."""
