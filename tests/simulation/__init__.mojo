"""Lets seeds decide what a server on a simulated network goes through."""
