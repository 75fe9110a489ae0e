"""The language of claims: text to tree, the kinds of values, the signs, and the budget of the work."""
