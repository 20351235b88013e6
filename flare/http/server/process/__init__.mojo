"""The process: workers on threads, supervision, signals, shutdown."""
