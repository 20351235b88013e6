"""Tests of `flare.sql`."""
