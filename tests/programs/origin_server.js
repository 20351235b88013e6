// Answers flare's client (tests/python/test_client_peers.py): prints a port
// that speaks plainly, then one that speaks TLS, then the same in HTTP/2.
"use strict";
const fs = require("fs");
const http = require("http");
const http2 = require("http2");
const https = require("https");
const zlib = require("zlib");

const folder = process.argv[2];
const routes = {
  "/text": (request, response) => response.end("hello"),
  "/chunked": async (request, response) => {
    for (let i = 0; i < 64; i++) {
      const piece = Buffer.alloc(1000, "a".charCodeAt(0) + (i % 16));
      await new Promise((sent) => response.write(piece, sent));
    }
    response.end();
  },
  "/coded": (request, response) => {
    const text = "coded".repeat(20000);
    if (!/gzip/.test(request.headers["accept-encoding"])) {
      return response.end(text);
    }
    response.setHeader("Content-Encoding", "gzip");
    response.end(zlib.gzipSync(text));
  },
  "/echo": (request, response) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      const framing =
        request.headers["transfer-encoding"] ||
        request.headers["content-length"] ||
        "none";
      response.setHeader("X-Framing", framing);
      response.end(Buffer.concat(pieces));
    });
  },
  "/last": (request, response) => {
    // It is no field of HTTP/2.
    if (request.httpVersion === "1.1") response.setHeader("Connection", "close");
    response.end("bye");
  },
  "/trailers": (request, response) => {
    response.addTrailers({ "x-sum": "9", etag: '"1"' });
    response.end(request.headers.te || "none");
  },
  "/moved": (request, response) => {
    response.writeHead(302, { Location: "/text" });
    response.end();
  },
  "/nothing": (request, response) => {
    response.writeHead(204);
    response.end();
  },
};

function answer(request, response) {
  const route = routes[request.url];
  if (route) return route(request, response);
  response.writeHead(404);
  response.end();
}

function serve(server, then) {
  server.listen(0, "127.0.0.1", () => {
    console.log(server.address().port);
    if (then) then();
  });
}

const identity = {
  cert: fs.readFileSync(`${folder}/server.pem`),
  key: fs.readFileSync(`${folder}/server.key`),
};
serve(http.createServer(answer), () =>
  serve(https.createServer(identity, answer), () =>
    serve(http2.createServer(answer), () =>
      serve(http2.createSecureServer(identity, answer)),
    ),
  ),
);
