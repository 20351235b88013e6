"""Tests for `flare.tcp` on the loopback addresses."""
