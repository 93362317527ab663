// A call as text to use elsewhere: the message, a request of curl, a line for the server's own command line, a test in Rust.

import { state } from './client.js';
import { copy, el, plain } from './dom.js';
import { stringify } from './exact.js';

const META = 'io.modelcontextprotocol';

/** A menu that copies a call. `call` returns its method, parameters, headers, and the element with its result. */
export function copies(call) {
  return el('details.copies', null, el('summary', null, 'Copy as'), el('div.menu', null,
    copy('JSON-RPC', () => stringify(rpc(call()))),
    copy('curl', () => curl(call())),
    state.project && copy('command', () => command(call())),
    copy('Rust test', () => rustTest(call()))));
}

function rpc({ method, params }) {
  const meta = { [`${META}/protocolVersion`]: '2026-07-28', [`${META}/clientInfo`]: { name: 'mcp-dev', version: '0' }, [`${META}/clientCapabilities`]: {} };
  return { jsonrpc: '2.0', id: 1, method, params: state.era === 'modern' ? { ...params, _meta: meta } : params };
}

function claimHeaders({ method, params, headers }) {
  return [['Content-Type', 'application/json'], ['Accept', 'application/json, text/event-stream'], ['MCP-Protocol-Version', '2026-07-28'],
    ['Mcp-Method', method], ['Mcp-Name', encode(params.name ?? params.uri)], ...headers.map(([name, value]) => [name, encode(value)])];
}

function encode(value) {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value)) return value;
  return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(value)))}?=`;
}

/** A word of a shell. */
const quote = (text) => (/^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Works in the modern era, where a request needs no session. */
function curl(call) {
  const url = /^https?:/.test(state.name) ? state.name : 'http://127.0.0.1:8000/mcp';
  const lines = [`curl --no-buffer ${quote(url)}`, ...claimHeaders(call).map(([name, value]) => `--header ${quote(plain(`${name}: ${value}`))}`), `--data ${quote(stringify(rpc(call)))}`];
  return lines.join(' \\\n  ');
}

/** A line for the command line of a project's server, which is made with mcp-runtime. */
function command({ method, params }) {
  const name = params.name ?? params.uri;
  const verb = { 'tools/call': 'call', 'prompts/get': 'prompt' }[method] ?? 'read';
  const words = ['cargo run -q --', verb, quote(plain(name))];
  if (params.arguments && Object.keys(params.arguments).length) words.push(quote(stringify(params.arguments)));
  return words.join(' ');
}

/** A JSON text as an argument of `json!`: Rust writes some characters of strings otherwise. */
const rust = (value, indent) => stringify(value, indent).replace(/\\(u([0-9a-f]{4})|.)/g, (all, kind, code) => {
  if (code) return `\\u{${code}}`;
  return { b: '\\u{8}', f: '\\u{c}' }[kind] ?? all;
});

/** A test with the client of mcp-runtime, in both eras. What the call has returned is what the test expects. */
function rustTest({ method, params, output }) {
  const verb = { 'tools/call': 'call', 'prompts/get': 'prompt' }[method] ?? 'read';
  const name = String(params.name ?? params.uri);
  const word = name.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_+|_+$/g, '').toLowerCase() || 'it';
  const args = verb === 'read' ? rust(name) : `${rust(name)}, json!(${rust(params.arguments ?? {})})`;
  const seen = output.dataset.text;
  const failed = output.dataset.failed === 'yes';
  const expected = seen === undefined ? [] : [`    assert_eq!(result.${failed ? 'error_text' : 'text'}(), ${rust(seen)});`];
  return [
    '#[tokio::test]', `async fn ${verb}_${word}() {`,
    '    let client = mcp_runtime::testing::TestClient::both(server()).await;',
    `    let result = client.${verb}(${args}).await.unwrap();`, ...expected, '}', '',
  ].join('\n');
}
