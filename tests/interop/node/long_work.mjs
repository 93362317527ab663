// Calls tools that take longer than clients wait, with both TypeScript clients, in every revision and over every transport at
// once, and does what a model is told to do.
//
// Usage: long_work.mjs DIRECTORY_OF_THE_PROGRAMS. The environment of `long_work` says how long they take. Prints one line per
// call, with what it ended with, and `N passed, N failed` at the end.

import assert from 'node:assert/strict';
import { join } from 'node:path';

import { LEGACY, MODERN, TRANSPORTS, connect1, connect2 } from './clients.mjs';
import { reach } from './reach.mjs';
import { end, say, skip } from './report.mjs';

const program = join(process.argv[2], 'long_work');

// Calls a tool; the progress that it reports has to grow, and is added to what the client has heard.
async function call(session, tool, args, heard, options) {
  const reports = [];
  const onprogress = ({ progress }) => reports.push(progress);
  const result = await session.call(tool, args, { onprogress, ...options });
  assert.deepEqual(reports, [...new Set(reports)].sort((one, other) => one - other));
  heard.push(...reports);
  return result;
}

// Calls a tool and, as long as it says so, asks for the state of its job. Returns the result and the way there.
async function finish(session, tool) {
  const heard = [];
  const began = Date.now();
  const passed = () => `${Math.round((Date.now() - began) / 1000)} s`;
  let result = await call(session, tool, {}, heard, { resetTimeoutOnProgress: tool === 'long_call' });
  const job = /continues in the background as job `([^`]+)`/.exec(result.content[0].text);
  let way = passed();
  let asked = 0;
  while (job && asked < 20) {
    result = await call(session, 'job_status', { job_id: job[1] }, heard);
    asked += 1;
    if (!result.content[0].text.includes('is still running')) break;
  }
  way += job ? `, then job_status ${asked} times` : ', one call';
  return { result, way: `${way}, ${passed()} in all, ${heard.length} reports of progress` };
}

async function check(who, session, tool) {
  try {
    const { result, way } = await finish(session, tool);
    assert.ok(!result.isError, JSON.stringify(result));
    assert.match(result.content[0].text, tool === 'long_measurement' ? /seconds/ : /^done/);
    say(who, `${tool}: the result (${way})`);
  } catch (error) {
    say(who, tool, error);
  }
}

async function visit(who, transport, connect) {
  let server;
  try {
    server = await reach(program, transport);
    const session = await connect(server.make);
    // The clients compare results with the output schemas of the list.
    await session.client.listTools();
    await Promise.all(['long_work', 'long_measurement', 'long_call'].map((tool) => check(who, session, tool)));
    await session.client.close();
  } catch (error) {
    say(who, 'connects', error);
  } finally {
    server?.stop();
  }
}

const visits = [];
for (const [transport, [Kind1, Kind2]] of Object.entries(TRANSPORTS)) {
  for (const revision of LEGACY) {
    visits.push(visit(`sdk ${transport} ${revision}`, transport, (make) => connect1(make, Kind1, revision)));
    const by2 = (make) => connect2(make, Kind2, revision, undefined, { mode: 'legacy' });
    visits.push(visit(`client ${transport} ${revision}`, transport, by2));
  }
  if (transport === 'sse') {
    skip(`client sse ${MODERN}`, 'the revision has no binding to this transport');
    continue;
  }
  for (const [name, mode] of Object.entries({ pinned: { pin: MODERN }, auto: 'auto' })) {
    const by2 = (make) => connect2(make, Kind2, MODERN, undefined, { mode });
    visits.push(visit(`client ${transport} ${MODERN} ${name}`, transport, by2));
  }
}
await Promise.all(visits);
end();
