"""Lets flare talk with WebSocket peers of other makers."""
