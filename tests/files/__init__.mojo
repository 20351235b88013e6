"""Holds the tests of `flare.http.routing`."""
