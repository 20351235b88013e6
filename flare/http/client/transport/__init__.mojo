"""Moves the octets of one connection."""
