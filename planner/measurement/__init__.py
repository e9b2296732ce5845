"""Measurements: reading them, and how far predictions are from them."""
