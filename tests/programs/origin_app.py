"""Answers flare's client (tests/python/test_client_h2_peers.py) as an application
of Hypercorn."""

import gzip

CODED = b"coded" * 20_000


async def content_of(receive):
    content = b""
    while True:
        message = await receive()
        content += message.get("body", b"")
        if not message.get("more_body"):
            return content


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    fields = dict(scope["headers"])
    status, answer, content = 200, {}, b""
    path = scope["path"]
    if path == "/text":
        content = b"hello"
    elif path == "/last":
        content = b"bye"
    elif path == "/chunked":
        content = b"".join(bytes([ord("a") + i % 16]) * 1000 for i in range(64))
    elif path == "/coded":
        content, answer = gzip.compress(CODED), {b"content-encoding": b"gzip"}
    elif path == "/echo":
        content = await content_of(receive)
        answer = {b"x-framing": fields.get(b"content-length", b"none")}
    elif path == "/moved":
        status, answer = 302, {b"location": b"/text"}
    else:
        status = 204 if path == "/nothing" else 404
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": list(answer.items()),
        }
    )
    if scope["method"] == "HEAD":
        content = b""
    for start in range(0, len(content), 1000):
        await send(
            {
                "type": "http.response.body",
                "body": content[start : start + 1000],
                "more_body": True,
            }
        )
    await send({"type": "http.response.body", "body": b""})
