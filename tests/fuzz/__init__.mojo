"""Tests what the fuzz harnesses share."""
