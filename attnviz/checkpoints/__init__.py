"""Trained models: the one in the box, the script that trains it, and weights from elsewhere."""
