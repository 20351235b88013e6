"""Holds the tests of `flare.proto`."""
