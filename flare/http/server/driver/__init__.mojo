"""Drives connections: the reactions to completions, timers and handlers."""
