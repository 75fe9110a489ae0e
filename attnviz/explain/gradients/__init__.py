"""The arithmetic of one cell of a gradient: the vector–Jacobian products of the stages that read it."""
