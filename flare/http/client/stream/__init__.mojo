"""Streams the content of a request, and that of its response."""
