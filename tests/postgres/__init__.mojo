"""Tests of `flare.postgres`."""
