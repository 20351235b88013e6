"""Tests of `flare.sqlite`."""
