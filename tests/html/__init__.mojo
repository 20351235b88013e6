"""Holds the tests of `flare.html`."""
