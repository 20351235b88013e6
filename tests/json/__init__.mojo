"""Holds the tests of `flare.json`."""
