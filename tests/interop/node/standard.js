// Holds the conversation of tests/interop/README.md with the package `undici`, or
// with `--built-in` with the WebSocket of Node itself. Clients only.
"use strict";
const { converse } = require("../standard.js");

const isBuiltIn = process.argv[2] === "--built-in";
const { WebSocket } = isBuiltIn ? globalThis : require("undici");
// The authority is in NODE_EXTRA_CA_CERTS.
const [, url, compression] = process.argv.slice(isBuiltIn ? 3 : 2);

converse(WebSocket, url, compression).then(
  (said) => {
    console.log(said);
    process.exit(0);
  },
  (error) => {
    console.error(error);
    process.exit(1);
  }
);
