// GET /api on Node's own http module.
const http = require("node:http");
const body = '{"greeting":"Hello World!"}';
const server = http.createServer((request, response) => {
  if (request.url !== "/api") {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(body);
});
server.keepAliveTimeout = 0;
server.listen(Number(process.argv[2]), "127.0.0.1");
