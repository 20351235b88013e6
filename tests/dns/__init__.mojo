"""Tests of `flare.dns`."""
