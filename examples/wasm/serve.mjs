// Serves the module over HTTP: each POST has one message, and its answer is the response.
//
//   node serve.mjs MODULE [PORT]
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { load } from "./load.mjs";

const [path, port = "8000"] = process.argv.slice(2);
const server = await load(await readFile(path));
const http = createServer(async (request, response) => {
  // A web page on this machine must not be able to use the server.
  const { host, origin } = request.headers;
  if (!/^(localhost|127\.0\.0\.1)(:\d+)?$/.test(host ?? "") || origin) return response.writeHead(403).end();
  if (request.method !== "POST") return response.writeHead(405, { Allow: "POST" }).end();
  const parts = [];
  for await (const part of request) parts.push(part);
  const answer = await server.handle(Buffer.concat(parts).toString());
  if (answer === null) return response.writeHead(202).end();
  response.writeHead(200, { "Content-Type": "application/json" }).end(answer);
});
http.listen(Number(port), "127.0.0.1", () => console.error(`http://127.0.0.1:${http.address().port}/`));
