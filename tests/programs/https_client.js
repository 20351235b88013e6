// Asks an HTTPS server three times on one connection
// (tests/python/test_loopback_https.py).
"use strict";
const fs = require("fs");
const https = require("https");

const [authority, port] = process.argv.slice(2);
const agent = new https.Agent({
  keepAlive: true,
  maxSockets: 1,
  ca: fs.readFileSync(authority),
});

function ask(left) {
  const url = `https://localhost:${port}/`;
  const options = { agent, family: 4 };
  const request = https.get(url, options, (response) => {
    let text = "";
    response.on("data", (part) => (text += part));
    response.on("end", () => {
      console.log(text);
      if (left > 1) ask(left - 1);
      else agent.destroy();
    });
  });
  request.on("error", (error) => {
    console.error(error);
    process.exit(1);
  });
}

ask(3);
