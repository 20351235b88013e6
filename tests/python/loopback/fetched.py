"""Knows what `tests/programs/fetcher.mojo` prints of servers that are right."""

CHUNKS = b"".join(bytes([ord("a") + i % 16]) * 1000 for i in range(64))
CODED = b"coded" * 20_000


def fetched(version, framing):
    """Gives the lines up to the number of connections; `framing` is how the
    server learns of content of no known length."""
    return f"""\
version {version}
get 200 hello
head 200 0
nothing 204 0
missing 404
moved 200 hello 1
chunked 200 {len(CHUNKS)} {sum(CHUNKS)}
streamed 200 {len(CHUNKS)} {sum(CHUNKS)}
coded 200 {len(CODED)} {sum(CODED)} gzip
last 200 bye
after 200 hello
known 200 300000 True
chunks 200 {framing} True
asking 200 300000 True
json 200 1
"""
