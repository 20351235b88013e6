"""Holds what a program decides about a client."""
