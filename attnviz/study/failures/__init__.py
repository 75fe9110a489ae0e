"""Deliberate failures of attention: the change, the first stage that goes wrong, and the remedy."""
