"""Answers flare's client (tests/python/test_client_peers.py): prints a port
that speaks plainly, then one that speaks TLS."""

import gzip
import http.server
import ssl
import sys
import threading


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        route = getattr(self, "get_" + self.path[1:], None)
        if not route:
            return self.answer(b"", 404)
        route()

    do_HEAD = do_GET

    def do_POST(self):
        framing = self.headers.get("Transfer-Encoding")
        if framing:
            content = b"".join(self.chunks())
        else:
            framing = self.headers["Content-Length"]
            content = self.rfile.read(int(framing))
        self.answer(content, fields={"X-Framing": framing})

    do_PUT = do_POST

    def get_text(self):
        self.answer(b"hello")

    def get_chunked(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(64):
            piece = bytes([ord("a") + i % 16]) * 1000
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def get_coded(self):
        content, fields = b"coded" * 20_000, {}
        if "gzip" in self.headers.get("Accept-Encoding", ""):
            content = gzip.compress(content)
            fields = {"Content-Encoding": "gzip"}
        self.answer(content, fields=fields)

    def get_last(self):
        self.answer(b"bye", fields={"Connection": "close"})

    def get_moved(self):
        self.answer(b"", 302, {"Location": "/text"})

    def get_nothing(self):
        self.send_response(204)
        self.end_headers()

    def chunks(self):
        while count := int(self.rfile.readline(), 16):
            yield self.rfile.read(count)
            self.rfile.readline()
        self.rfile.readline()

    def answer(self, content, status=200, fields=()):
        self.send_response(status)
        for name, value in dict(fields).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    # A proxy may open a connection for each of many requests at once.
    request_queue_size = 128


def serve(folder=None):
    server = Server(("127.0.0.1", 0), Origin)
    server.daemon_threads = True
    if folder:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/server.pem", f"{folder}/server.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever).start()


if __name__ == "__main__":
    serve()
    serve(sys.argv[1])
