"""Tests of `flare.sys`."""
