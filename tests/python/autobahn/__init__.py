"""Runs the Autobahn test suite of WebSockets against flare."""
