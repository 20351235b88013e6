"""Tests for `flare.tls`."""
