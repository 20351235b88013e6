"""Tests `flare.http.server`, the whole of it, on a simulated network."""
