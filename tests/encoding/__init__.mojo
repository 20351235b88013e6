"""Tests for `flare.http.encoding`."""
