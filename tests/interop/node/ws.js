// Holds the conversation of tests/interop/README.md with the package `ws`. A client
// finds its authority in NODE_EXTRA_CA_CERTS.
"use strict";
const fs = require("fs");
const http = require("http");
const https = require("https");
const { once } = require("events");
const { WebSocket, WebSocketServer } = require("ws");
const { SIZES, textOf, expect } = require("../standard.js");

const PARTS = ["é", "", "漢字", "😀"];
const MESSAGE_OCTETS_MAX = 16 << 20;

function sendParts(socket) {
  PARTS.forEach((part, i) =>
    socket.send(part, { binary: false, fin: i === PARTS.length - 1 })
  );
}

// Opens a WebSocket, and collects its messages from the start.
async function open(url, compression) {
  const socket = new WebSocket(url, ["v1.test", "v2.test"], {
    maxPayload: MESSAGE_OCTETS_MAX,
  });
  const messages = [];
  let wake = () => {};
  socket.on("message", (data, isBinary) => {
    messages.push([data, isBinary]);
    wake();
  });
  socket.next = async () => {
    while (!messages.length) await new Promise((done) => (wake = done));
    return messages.shift();
  };
  await once(socket, "open");
  expect(socket.protocol, "v2.test", "protocol");
  const agreed = socket.extensions.startsWith("permessage-deflate");
  expect(agreed, compression === "deflate", "compression");
  return socket;
}

async function expectText(socket, wanted) {
  const [data, isBinary] = await socket.next();
  expect(isBinary, false, "type");
  expect(data.toString(), wanted, "text");
}

async function converse(url, compression) {
  let socket = await open(url, compression);
  for (const size of SIZES) {
    const text = textOf(size);
    socket.send(text);
    await expectText(socket, text);
    socket.send(Buffer.from(text));
    const [data, isBinary] = await socket.next();
    expect(isBinary, true, "type");
    expect(data.toString(), text, "octets");
  }
  sendParts(socket);
  await expectText(socket, PARTS.join(""));
  socket.send("fragments");
  await expectText(socket, PARTS.join(""));
  const pong = once(socket, "pong");
  socket.ping("are you there");
  expect((await pong)[0].toString(), "are you there", "pong");
  socket.send("ping");
  await expectText(socket, "pong");
  socket.close(4321, "enough");
  expect((await once(socket, "close"))[0], 4321, "code");
  socket = await open(url, compression);
  socket.send("close");
  const [code, reason] = await once(socket, "close");
  expect(code, 4567, "code");
  expect(reason.toString(), "done", "reason");
  console.log("ok");
}

function answer(socket) {
  socket.on("message", (data, isBinary) => {
    const text = isBinary ? null : data.toString();
    if (text === "fragments") sendParts(socket);
    else if (text === "ping") {
      socket.once("pong", () => socket.send("pong"));
      socket.ping("are you there");
    } else if (text === "close") socket.close(4567, "done");
    else socket.send(data, { binary: isBinary });
  });
  socket.on("close", (code, reason) => console.log(`closed ${code} ${reason}`));
  socket.on("error", (error) => console.error(error));
}

function serve(compression, folder) {
  const server = folder
    ? https.createServer({
        key: fs.readFileSync(`${folder}/server.key`),
        cert: fs.readFileSync(`${folder}/server.pem`),
      })
    : http.createServer();
  const sockets = new WebSocketServer({
    server,
    perMessageDeflate: compression === "deflate",
    maxPayload: MESSAGE_OCTETS_MAX,
    handleProtocols: (offered) => offered.has("v2.test") && "v2.test",
  });
  sockets.on("connection", answer);
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

const [role, ...rest] = process.argv.slice(2);
if (role === "server") serve(...rest);
else
  converse(...rest).catch((error) => {
    console.error(error);
    process.exit(1);
  });
