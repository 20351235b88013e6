"""Composes what hostile clients send."""


def get(path, *lines, method="GET"):
    """Composes a request without content."""
    fields = "".join(f"{line}\r\n" for line in lines)
    return f"{method} {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n".encode()


def post(path, content, *lines):
    """Composes a request with content of known length."""
    fields = "".join(f"{line}\r\n" for line in lines)
    return (
        f"POST {path} HTTP/1.1\r\nHost: a\r\n{fields}"
        f"Content-Length: {len(content)}\r\n\r\n"
    ).encode() + content


CHUNKED = (
    b"POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
)
