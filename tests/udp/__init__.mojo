"""Tests for `flare.udp` on the loopback addresses."""
