"""HTTP/2 without I/O (RFC 9113)."""
