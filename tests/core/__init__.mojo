"""Tests for `flare.core`."""
