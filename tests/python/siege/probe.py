"""Asks a server again and again, in a process of its own.

    python3 probe.py PORT [tls] [uploads]

It asks for the root, and with `uploads` every other time for the echo of a
content that does not come with its head. It prints a line when it begins.
When its standard input ends, it prints the
number of answers, of failures and the longest wait in seconds.
"""

import select
import socket
import ssl
import sys
import time

PAUSE_SECONDS = 0.05
ANSWER_SECONDS_MAX = 10.0
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
CONTENT = b"u" * 100_000
UPLOAD = (
    b"POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
    b"Content-Length: 100000\r\n\r\n" + CONTENT
)


def context():
    """Returns a context that asks for no certificate."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


def is_answered(port, is_secure=False, request=REQUEST):
    """Returns whether the server answers 200 on a connection of its own."""
    try:
        with socket.create_connection(
            ("127.0.0.1", port), ANSWER_SECONDS_MAX
        ) as stream:
            if is_secure:
                stream = context().wrap_socket(stream)
            stream.sendall(request)
            answer = b""
            while piece := stream.recv(65536):
                answer += piece
    except OSError:
        return False
    return answer.startswith(b"HTTP/1.1 200")


def main(port, is_secure, uploads):
    """Asks until standard input ends."""
    asked, failed, slowest = 0, 0, 0.0
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], PAUSE_SECONDS)[0]:
        began = time.monotonic()
        request = UPLOAD if uploads and asked % 2 else REQUEST
        failed += not is_answered(port, is_secure, request)
        asked += 1
        slowest = max(slowest, time.monotonic() - began)
    print(asked, failed, slowest)


if __name__ == "__main__":
    main(int(sys.argv[1]), "tls" in sys.argv, "uploads" in sys.argv)
