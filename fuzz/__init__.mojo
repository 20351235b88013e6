"""Holds one fuzz harness per machine and what they share."""
