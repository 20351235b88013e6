"""Serves and sends HTTP requests."""
