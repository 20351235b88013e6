// Holds the conversation of README.md with the interface of browsers, which has
// neither fragments nor pings. For pages and for node/standard.js.
"use strict";
const SIZES = [0, 5, 125, 126, 65_535, 65_536, 1 << 20];
const WHOLE = "é漢字😀";

function textOf(size) {
  const octets = new Uint8Array(size);
  for (let i = 0; i < size; i++) octets[i] = 97 + ((i * 7) % 26);
  return new TextDecoder().decode(octets);
}

function expect(found, wanted, what) {
  if (found !== wanted) throw new Error(`${what}: ${String(found).slice(0, 80)}`);
}

async function converse(WebSocket, url, compression) {
  const until = (socket, name) => new Promise((resolve, reject) => {
    const fail = (event) => reject(event.error || new Error("error"));
    socket.addEventListener(name, resolve, { once: true });
    socket.addEventListener("error", fail, { once: true });
  });
  const open = async () => {
    const socket = new WebSocket(url, ["v1.test", "v2.test"]);
    socket.binaryType = "arraybuffer";
    await until(socket, "open");
    expect(socket.protocol, "v2.test", "protocol");
    const agreed = socket.extensions.startsWith("permessage-deflate");
    expect(agreed, compression === "deflate", "compression");
    return socket;
  };
  const exchange = async (socket, message) => {
    const answer = until(socket, "message");
    socket.send(message);
    return (await answer).data;
  };
  let socket = await open();
  for (const size of SIZES) {
    const text = textOf(size);
    expect(await exchange(socket, text), text, "text");
    const octets = await exchange(socket, new TextEncoder().encode(text));
    expect(octets instanceof ArrayBuffer, true, "type");
    expect(new TextDecoder().decode(octets), text, "octets");
  }
  expect(await exchange(socket, WHOLE), WHOLE, "text");
  expect(await exchange(socket, "fragments"), WHOLE, "text");
  expect(await exchange(socket, "ping"), "pong", "text");
  let closed = until(socket, "close");
  socket.close(4321, "enough");
  expect((await closed).code, 4321, "code");
  socket = await open();
  closed = until(socket, "close");
  socket.send("close");
  const { code, reason } = await closed;
  expect(`${code} ${reason}`, "4567 done", "Close");
  return "ok without fragments, ping";
}

if (typeof module === "object") module.exports = { SIZES, textOf, expect, converse };
