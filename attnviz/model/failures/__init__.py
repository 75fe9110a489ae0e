"""Failures of attention on purpose: what breaks it, the first stage that goes wrong, and how it is mended."""
