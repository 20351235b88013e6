"""Holds the tests; each package mirrors one of the library."""
