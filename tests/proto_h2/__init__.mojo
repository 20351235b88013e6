"""Tests for `flare.proto.h2`."""
