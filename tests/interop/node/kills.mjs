// Drives a server, whose instances are killed meanwhile, with both official TypeScript clients, once per era each knows.
//
// Usage: kills.mjs URL SECONDS. Prints a line of JSON for each thing that happened to a client; `benches/kills` judges them.

import { setTimeout as sleep } from 'node:timers/promises';

import { LEGACY, MODERN, TRANSPORTS, connect1, connect2 } from './clients.mjs';

const NOTE = 'note://1';
// Maximum time for a call to end: a client that resumes a call is told after 15 s that the call's instance has died.
const options = { timeout: 40_000 };
const url = new URL(process.argv[2]);
// The clock that the judge reads.
const now = () => Number(process.hrtime.bigint()) / 1e9;
const end = now() + Number(process.argv[3]);
const isOver = () => now() > end;

const person = {
  capabilities: { elicitation: {} },
  serve: (handle) =>
    handle('elicitation/create', async () => {
      await sleep(300); // time in which the instance may die
      return { action: 'accept', content: { name: 'Ada' } };
    }),
};

function say(who, what, fields) {
  process.stdout.write(`${JSON.stringify({ who, what, ...fields })}\n`);
}

// Makes a call and says how it ended.
async function attempt(who, kind, call) {
  const began = now();
  let what;
  let error;
  try {
    const result = await call();
    what = result.isError ? 'told' : 'answered';
    if (result.isError) error = JSON.stringify(result).slice(0, 300);
  } catch (thrown) {
    what = 'cut';
    error = String(thrown).slice(0, 300);
  }
  say(who, what, { kind, began, ended: now(), error });
}

async function repeat(who, kind, pause, call) {
  while (!isOver()) {
    await attempt(who, kind, call);
    await sleep(pause);
  }
}

// Follows a resource with a stream that is opened again when it was cut.
async function listen(who, client) {
  for (let closed; ; await closed) {
    try {
      const subscription = await client.listen({ resourceSubscriptions: [NOTE] });
      say(who, 'heard', { at: now() }); // what happened before has to be read
      closed = subscription.closed;
    } catch {
      closed = sleep(100);
    }
  }
}

async function drive(name, revision, connect, Kind) {
  const who = `TypeScript ${name} ${revision}`;
  const { client, call, on } = await connect((Kind) => new Kind(url), Kind, revision, person);
  client.onerror = () => {};
  on('notifications/resources/updated', () => say(who, 'heard', { at: now() }));
  if (revision === MODERN) {
    listen(who, client);
  } else {
    await client.subscribeResource({ uri: NOTE });
    say(who, 'heard', { at: now() });
  }
  await Promise.all([
    repeat(who, 'calls', 50, () => call('echo', { text: 'hello' }, options)),
    repeat(who, 'questions', 100, () => call('ask', {}, options)),
  ]);
}

const [http1, http2] = TRANSPORTS.http;
await Promise.all([
  drive('SDK 1', LEGACY.at(-1), connect1, http1),
  drive('SDK 2', LEGACY.at(-1), connect2, http2),
  drive('SDK 2', MODERN, (make, Kind, revision, person) => connect2(make, Kind, revision, person, { mode: { pin: MODERN } }), http2),
]);
await sleep(5_000); // the last changes are heard
process.exit();
