"""The configuration of a client."""
