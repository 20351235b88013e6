"""Listening sockets: opened, taken over, and handed on."""
