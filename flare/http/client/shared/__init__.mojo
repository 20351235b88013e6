"""Shares one connection of HTTP/2 among exchanges."""
