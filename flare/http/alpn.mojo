"""Defines the names of protocols that TLS negotiates."""


struct AlpnName:
    """The registered names (RFC 7301 section 6)."""

    comptime HTTP_2: StaticString = "h2"
    """HTTP/2 (RFC 9113 section 3.2)."""
    comptime HTTP_1_1: StaticString = "http/1.1"
    """HTTP/1.1."""
    comptime HTTP_1_0: StaticString = "http/1.0"
    """HTTP/1.0."""
