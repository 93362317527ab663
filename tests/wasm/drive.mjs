// Drives the module of `examples/wasm` in this process and over HTTP, in both eras.
//
//   drive.mjs MODULE
//
// Last line: 'N passed, N failed'.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const example = new URL("../../examples/wasm/", import.meta.url);
const { load } = await import(new URL("load.mjs", example));
const path = process.argv[2];
const bytes = await readFile(path);
// Longer than anything here takes.
const PATIENCE = 20_000;

const MODERN = "2026-07-28", LEGACY = "2025-11-25";
const META = "io.modelcontextprotocol/";

function request(version, method, params = {}) {
  if (version === MODERN) {
    const capabilities = { elicitation: { form: {} } };
    const _meta = { [META + "protocolVersion"]: MODERN, [META + "clientInfo"]: { name: "drive", version: "1" }, [META + "clientCapabilities"]: capabilities };
    params = { ...params, _meta };
  }
  return { jsonrpc: "2.0", id: "d", method, params };
}

const inTime = (what) => {
  let timer;
  const late = new Promise((_, failed) => { timer = setTimeout(() => failed(new Error("no answer in time")), PATIENCE); });
  return Promise.race([what, late]).finally(() => clearTimeout(timer));
};

// Two ways to the same module.
async function here() {
  const server = await load(bytes);
  return { send: (text) => server.handle(text), end() {} };
}

async function overHttp() {
  const program = spawn(process.execPath, [fileURLToPath(new URL("serve.mjs", example)), path, "0"], { stdio: ["ignore", "inherit", "pipe"] });
  const url = await new Promise((found, failed) => {
    program.stderr.on("data", (text) => found(String(text).trim()));
    program.on("exit", (status) => failed(new Error(`the server ended with ${status}`)));
  });
  return {
    async send(text) {
      const response = await fetch(url, { method: "POST", body: text });
      assert.equal(response.status === 200 || response.status === 202, true);
      return response.status === 202 ? null : response.text();
    },
    end: () => program.kill(),
  };
}

async function ask(way, version, method, params) {
  const answer = JSON.parse(await inTime(way.send(JSON.stringify(request(version, method, params)))));
  assert.equal(answer.jsonrpc, "2.0");
  assert.equal(answer.id, "d");
  return answer;
}
const call = (way, version, name, args = {}, more = {}) => ask(way, version, "tools/call", { name, arguments: args, ...more });

const checks = {
  async "tools are listed"(way, version) {
    const { result } = await ask(way, version, "tools/list");
    assert.deepEqual(result.tools.map((tool) => tool.name), ["count", "roman", "invite", "ponder"]);
    assert.equal(result.resultType, version === MODERN ? "complete" : undefined);
  },
  async "a tool is called"(way, version) {
    const { result } = await call(way, version, "count", { text: "grüße an alle" });
    assert.deepEqual(JSON.parse(result.content[0].text), { words: 3, characters: 13 });
    // A legacy request here names no version, and the one that is assumed has no structured results.
    assert.deepEqual(result.structuredContent, version === MODERN ? { words: 3, characters: 13 } : undefined);
  },
  async "a failure is for the model"(way, version) {
    const { result } = await call(way, version, "roman", { number: 4000 });
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /none for 4000/);
    const wrong = await call(way, version, "roman", { number: "x" });
    assert.equal(wrong.result.isError, true);
  },
  async "an unknown tool is an error"(way, version) {
    assert.equal((await call(way, version, "no_such_tool")).error.code, -32602);
    assert.equal((await ask(way, version, "no/such/method")).error.code, -32601);
  },
  async "malformed messages are answered"(way) {
    for (const [text, code] of [["{", -32700], ["", -32700], ["[]", -32600], ["5", -32600]]) {
      assert.equal(JSON.parse(await inTime(way.send(text))).error.code, code, text);
    }
  },
  async "a notification is not answered"(way) {
    assert.equal(await inTime(way.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')), null);
  },
  async "a question ends the round in the modern era"(way, version) {
    const { result } = await call(way, version, "invite", { event: "tea" });
    if (version !== MODERN) return assert.equal(result.isError, true);
    assert.equal(result.resultType, "input_required");
    const [key] = Object.keys(result.inputRequests);
    const inputResponses = { [key]: { action: "accept", content: { name: "Ada" } } };
    const next = await call(way, version, "invite", { event: "tea" }, { inputResponses, requestState: result.requestState });
    assert.equal(next.result.content[0].text, "Dear Ada, please come to tea!");
    // The state is sealed, for this call only.
    const forged = await call(way, version, "invite", { event: "war" }, { inputResponses, requestState: result.requestState });
    assert.equal(forged.error.code, -32602);
  },
  async "a call has a time limit, and others go on meanwhile"(way, version) {
    const began = performance.now();
    const late = call(way, version, "ponder");
    const quick = await call(way, version, "roman", { number: 9 });
    assert.equal(quick.result.content[0].text, "IX");
    assert.match(JSON.stringify(await late), /200ms/);
    assert.ok(performance.now() - began >= 190);
  },
  async "a legacy client initializes"(way, version) {
    if (version === MODERN) {
      const { result } = await ask(way, version, "server/discover");
      return assert.deepEqual(result.capabilities, { tools: {} });
    }
    const clientInfo = { name: "drive", version: "1" };
    const { result } = await ask(way, version, "initialize", { protocolVersion: LEGACY, capabilities: {}, clientInfo });
    assert.equal(result.protocolVersion, LEGACY);
    assert.deepEqual(result.capabilities, { tools: {} });
  },
};

let passed = 0, failed = 0;
for (const [name, open] of Object.entries({ here, "over HTTP": overHttp })) {
  const way = await open();
  for (const version of [MODERN, LEGACY]) {
    for (const [what, check] of Object.entries(checks)) {
      try {
        await check(way, version);
        passed++;
      } catch (error) {
        failed++;
        console.log(`FAILED: ${what} (${name}, ${version})\n${error.stack}`);
      }
    }
  }
  way.end();
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
