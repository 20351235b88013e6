"""Tests for `flare.io`."""
