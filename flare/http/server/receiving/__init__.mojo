"""Converts received octets into requests: one module per protocol."""
