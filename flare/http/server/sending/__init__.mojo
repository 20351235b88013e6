"""Converts responses into octets: one module per protocol."""
