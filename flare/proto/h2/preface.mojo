"""The octets with which a client begins (RFC 9113 section 3.4)."""

comptime PREFACE: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""They look like a request of a method that no server of HTTP/1.1 knows."""
