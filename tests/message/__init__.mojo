"""Holds the tests of `flare.message`."""
