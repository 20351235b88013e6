"""Tests of `flare.net`."""
