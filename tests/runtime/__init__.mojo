"""Holds the tests of `flare.runtime`."""
