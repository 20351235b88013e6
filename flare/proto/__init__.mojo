"""Holds the protocol machines: octets in, events out, no I/O and no clock."""
