"""Tests for `flare.proto.ws`."""
