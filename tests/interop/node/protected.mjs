// Servers that need access tokens: the clients find out where to get one, get it, and get a better one when they need it.
//
// The authorization server is that of authorization.mjs; what a person would do in a browser is done here.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { createInterface } from 'node:readline';

import * as all2 from '@modelcontextprotocol/client';
import { UnauthorizedError as Unauthorized1 } from '@modelcontextprotocol/sdk/client/auth.js';

import { PATIENCE } from './reach.mjs';

const REDIRECT = 'http://127.0.0.1:9/callback';

// Runs a program until `stop`; gives the first line that it says.
async function run(command, args, from) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines = createInterface(child[from]);
  const [line] = await once(lines, 'line', { signal: AbortSignal.timeout(PATIENCE) });
  lines.on('line', () => {});
  for (const stream of [child.stdout, child.stderr]) stream.resume();
  return { line, stop: () => child.kill('SIGKILL') };
}

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

// The example, and whose tokens it takes.
export async function guarded(example) {
  const authorization = await run(process.execPath, [new URL('authorization.mjs', import.meta.url).pathname], 'stdout');
  const address = `127.0.0.1:${await freePort()}`;
  const url = new URL(`http://${address}/mcp`);
  const server = spawn(example, ['--http', address], {
    env: { ...process.env, PROTECTED_ISSUER: authorization.line, PROTECTED_URL: url.href },
    stdio: 'ignore',
  });
  const deadline = Date.now() + PATIENCE;
  // Requests without a token are answered as soon as the server runs.
  while (!(await fetch(url, { method: 'POST' }).catch(() => undefined))) {
    if (Date.now() > deadline) throw new Error('the example does not listen');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    url,
    issuer: authorization.line,
    stop() {
      server.kill('SIGKILL');
      authorization.stop();
    },
  };
}

// A user with a browser, and a client that keeps its credentials in memory.
class Person {
  constructor(issuer) {
    this.issuer = issuer;
  }

  redirectUrl = REDIRECT;
  clientMetadata = { client_name: 'interop', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' };
  cookies = new Map();
  asked = [];

  clientInformation() {
    return { client_id: 'interop', issuer: this.issuer };
  }
  tokens() {
    return this.kept;
  }
  saveTokens(tokens) {
    this.kept = tokens;
  }
  codeVerifier() {
    return this.verifier;
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  discoveryState() {
    return this.discovered;
  }
  saveDiscoveryState(state) {
    this.discovered = state;
  }

  // Follows the authorization server until it sends the browser back to the client.
  async redirectToAuthorization(start) {
    this.asked.push(start.searchParams);
    let url = start;
    while (!url.href.startsWith(REDIRECT)) {
      const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
      for (const set of response.headers.getSetCookie()) {
        const [, name, value] = set.match(/^([^=]+)=([^;]*)/);
        this.cookies.set(name, value);
      }
      assert.ok(response.headers.has('location'), await response.text());
      url = new URL(response.headers.get('location'), url);
    }
    this.back = url.searchParams;
    assert.ok(this.back.has('code'), url.href);
  }
}

const isUnauthorized = (error) => error instanceof Unauthorized1 || error instanceof all2.UnauthorizedError;

// Does it; if that needs a person, once more after they came back.
async function withPerson(person, transport, act) {
  try {
    return await act();
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    await transport().finishAuth(person.back.get('code'), person.back.get('iss') ?? undefined);
    return act();
  }
}

// The requests of a client at a protected server.
export async function getsIn({ url, issuer }, connect, Kind) {
  const person = new Person(issuer);
  let transport;
  const make = () => (transport = new Kind(url, { authProvider: person }));
  const { client, call } = await withPerson(person, () => transport, () => connect(make));
  const [first] = person.asked;
  assert.equal(person.asked.length, 1);
  assert.equal(first.get('scope'), 'notes:read');
  assert.equal(first.get('resource'), url.href);
  assert.equal(first.get('code_challenge_method'), 'S256');
  const names = async () => (await client.listTools()).tools.map(({ name }) => name);
  assert.deepEqual(await names(), ['list_notes']);
  assert.deepEqual((await call('list_notes')).isError ?? false, false);
  // The tool is not in the list yet; who calls it all the same is told what to ask for.
  const written = await withPerson(person, () => transport, () => call('write_note', { note: 'milk' }));
  assert.equal(written.content[0].text, '1 notes');
  assert.equal(person.asked.length, 2);
  assert.deepEqual(person.asked[1].get('scope').split(' ').sort(), ['notes:read', 'notes:write']);
  assert.deepEqual(await names(), ['list_notes', 'write_note']);
  assert.ok(JSON.stringify((await call('list_notes')).content).includes('milk'));
  await client.close();
}

// Credentials that are none.
export async function staysOut({ url }, connect, Kind) {
  const make = () => new Kind(url, { requestInit: { headers: { authorization: 'Bearer none' } } });
  await assert.rejects(connect(make));
}
