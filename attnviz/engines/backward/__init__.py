"""The backward pass: the gradient of a number with respect to every stage and parameter, on any engine."""
