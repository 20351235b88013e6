"""Holds programs that the tests run."""
