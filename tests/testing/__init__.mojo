"""Tests `flare.testing`."""
