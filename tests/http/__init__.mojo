"""Tests `flare.http` above the server."""
