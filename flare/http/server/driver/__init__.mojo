"""Drives connections: what completions, timers and handlers lead to."""
