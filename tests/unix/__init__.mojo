"""Tests for `flare.unix`."""
