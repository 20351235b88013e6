// Serves HTTPS for flare's client (tests/python/test_tls_servers.py): prints a
// port that asks for no certificate, then one that insists on one.
"use strict";
const fs = require("fs");
const https = require("https");

const folder = process.argv[2];

function serve(asks, then) {
  const options = {
    cert: fs.readFileSync(`${folder}/server.pem`),
    key: fs.readFileSync(`${folder}/server.key`),
    ca: fs.readFileSync(`${folder}/ca.pem`),
    requestCert: asks,
    rejectUnauthorized: asks,
  };
  const server = https.createServer(options, (request, response) => {
    const shown = request.socket.getPeerCertificate();
    const name = shown && shown.subject ? shown.subject.CN : "nobody";
    response.end(`hello ${name}\n`);
  });
  server.listen(0, "127.0.0.1", () => {
    console.log(server.address().port);
    if (then) then();
  });
}

serve(false, () => serve(true));
