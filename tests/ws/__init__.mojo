"""Tests of WebSockets on a simulated network."""
