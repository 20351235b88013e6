"""Tests for `flare.http.client` on the loopback addresses."""
