// Drives examples and the fixture `everything` with both official TypeScript clients, over each transport, once per revision each can negotiate there.
//
// Usage: drive.mjs DIRECTORY_OF_THE_EXAMPLES. Prints one line per check and `N passed, N failed` at the end.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { bundles } from './bundle.mjs';
import { LEGACY, MODERN, TRANSPORTS, connect1, connect2 } from './clients.mjs';
import { scenes } from './deploy.mjs';
import { checks } from './everything.mjs';
import { directory, files } from './files.mjs';
import { notes } from './notes.mjs';
import { getsIn, guarded, staysOut } from './protected.mjs';
import { Relay, reach } from './reach.mjs';
import { end, say, skip } from './report.mjs';
import { resuming } from './resuming.mjs';

const programs = process.argv[2];

// Connects once and runs these checks, one after another.
async function drive(who, transport, revision, connect, example, checks, { relay, person, environment, ...extra }) {
  let session;
  let server;
  try {
    server = await reach(join(programs, example), transport, relay, environment);
    session = { ...(await connect(server.make, person)), revision, relay, person, ...extra };
    say(who, 'connects');
  } catch (error) {
    say(who, 'connects', error);
    server?.stop();
    return;
  }
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check(session);
      say(who, name);
    } catch (error) {
      say(who, name, error);
    }
  }
  await session.client.close();
  server.stop();
}

// All that one client does over one transport in one revision.
async function visit(client, transport, revision, mode, connect, extra = {}) {
  const who = `${client} ${transport} ${revision}${mode}`;
  const run = (example, checks, more) =>
    drive(`${who} ${example}`, transport, revision, connect, example, checks, { ...extra, ...more });
  await run('everything', checks);
  if (transport === 'sse') return; // only `everything` switches it on
  if (transport === 'http' && revision !== MODERN) {
    for (const [name, check] of Object.entries(resuming)) await run('everything', { [name]: check }, { relay: new Relay() });
  }
  const folder = await mkdtemp(join(tmpdir(), 'mcp-interop-'));
  await run('notes', notes, { environment: { NOTES_DB: join(folder, 'notes.db') } });
  const root = await directory(folder);
  await run('files', files, { root, environment: { FILES_ROOT: root } });
  await rm(folder, { recursive: true });
  for (const [name, [check, person]] of Object.entries(scenes)) {
    const present = person();
    if (revision < '2025-06-18' && present?.capabilities.elicitation) continue;
    await run('deploy', { [name]: check }, { person: present });
  }
  if (revision < '2025-06-18') skip(`${who} deploy asks a person`, 'elicitation came with 2025-06-18');
}

// Checks that need access tokens.
async function behindTokens(who, connect, Kind) {
  for (const [name, check] of Object.entries({ getsIn, staysOut })) {
    let server;
    try {
      server = await guarded(join(programs, 'protected'));
      await check(server, connect, Kind);
      say(`${who} protected`, name);
    } catch (error) {
      say(`${who} protected`, name, error);
    } finally {
      server?.stop();
    }
  }
}

// Without a cursor the newer client walks all pages by itself.
const newer = { pagesByItself: true };
for (const [transport, [Kind1, Kind2]] of Object.entries(TRANSPORTS)) {
  const by2 = (revision, negotiation) => (make, person) => connect2(make, Kind2, revision, person, negotiation);
  for (const revision of LEGACY) {
    const by1 = (make, person) => connect1(make, Kind1, revision, person);
    await visit('sdk', transport, revision, '', by1);
    await visit('client', transport, revision, '', by2(revision, { mode: 'legacy' }), newer);
  }
  if (transport === 'sse') {
    skip(`client sse ${MODERN}`, 'the revision has no binding to this transport');
  } else {
    await visit('client', transport, MODERN, ' pinned', by2(MODERN, { mode: { pin: MODERN } }), newer);
    await visit('client', transport, MODERN, ' auto', by2(MODERN, { mode: 'auto' }), newer);
  }
  if (transport === 'http') skip(`client http ${MODERN} resumes`, 'the revision has no resuming');
}

const [Http1, Http2] = TRANSPORTS.http;
for (const revision of LEGACY.filter((revision) => revision >= '2025-03-26')) {
  await behindTokens(`sdk http ${revision}`, (make) => connect1(make, Http1, revision), Http1);
  await behindTokens(`client http ${revision}`, (make) => connect2(make, Http2, revision, undefined, { mode: 'legacy' }), Http2);
}
await behindTokens(`client http ${MODERN} pinned`, (make) => connect2(make, Http2, MODERN, undefined, { mode: { pin: MODERN } }), Http2);
await behindTokens(`client http ${MODERN} auto`, (make) => connect2(make, Http2, MODERN, undefined, { mode: 'auto' }), Http2);

for (const [name, check] of Object.entries(bundles)) {
  try {
    await check(programs);
    say('bundle', name);
  } catch (error) {
    say('bundle', name, error);
  }
}

end();
