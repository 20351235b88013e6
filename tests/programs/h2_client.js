// Holds the conversation of tests/python/test_h2_clients.py with the HTTP/2 of
// Node: the URL of a server, and the certificate of its authority if it has TLS.
"use strict";
const fs = require("fs");
const http2 = require("http2");

const [url, authority] = process.argv.slice(2);
const session = http2.connect(
  url, authority ? { ca: fs.readFileSync(authority) } : {});
session.on("error", fail);

function fail(error) {
  console.error(error);
  process.exit(1);
}

function ask(fields, content) {
  return new Promise((resolve) => {
    const found = { interim: "", trailers: {}, parts: [] };
    const stream = session.request(fields, { endStream: content === undefined });
    stream.on("headers", (head) => (found.interim = head[":status"]));
    stream.on("response", (head) => (found.status = head[":status"]));
    stream.on("trailers", (fields) => (found.trailers = fields));
    stream.on("data", (part) => found.parts.push(part));
    stream.on("error", fail);
    stream.on("end", () => {
      found.octets = Buffer.concat(found.parts);
      found.text = found.octets.toString();
      resolve(found);
    });
    if (content !== undefined) stream.end(content);
  });
}

async function main() {
  const users = await Promise.all(
    Array.from({ length: 100 }, (_, i) => ask({ ":path": `/users/${i}` })));
  console.log("users",
    users.filter((user, i) => user.text === `user ${i}`).length);
  const content = Buffer.alloc(1000000, "abcdefg");
  const sum = await ask({ ":path": "/sum", ":method": "POST" }, content);
  console.log("sum", sum.text);
  const { octets } = await ask({ ":path": "/stream/3000000" });
  console.log("stream", octets.length,
    octets.filter((octet, i) => octet !== i % 251).length);
  const traced = await ask(
    { ":path": "/sum-trailer", ":method": "POST" }, "abc");
  console.log("trailer", traced.trailers["x-octets"]);
  const hints = await ask({ ":path": "/hints" });
  console.log("hints", hints.interim, hints.text);
  const raised = await ask({ ":path": "/raise" });
  console.log("raised", raised.status);
  session.close();
}

main().catch(fail);
