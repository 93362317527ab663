// Drives the examples `everything` and `deploy` with both official TypeScript clients, over each transport, once per
// revision each can negotiate there.
//
// Usage: drive.mjs DIRECTORY_OF_THE_EXAMPLES. Prints one line per check and `N passed, N failed` at the end.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import * as all2 from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as Sse1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types1 from '@modelcontextprotocol/sdk/types.js';

import { PATIENCE, Relay, reach } from './reach.mjs';

const examples = process.argv[2];
const Client2 = all2.Client;
const TRANSPORTS = {
  stdio: [Stdio1, Stdio2],
  http: [Http1, all2.StreamableHTTPClientTransport],
  sse: [Sse1, all2.SSEClientTransport],
};
const LEGACY = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const MODERN = '2026-07-28';
let passed = 0;
let failed = 0;

function say(who, name, problem) {
  if (problem === undefined) passed += 1;
  else failed += 1;
  console.log(`${who} ${name} ... ${problem === undefined ? 'ok' : `FAILED: ${problem?.stack ?? problem}`}`);
}

async function until(what, condition) {
  for (const end = Date.now() + PATIENCE; Date.now() < end; await sleep(10)) {
    const value = await condition();
    if (value) return value;
  }
  throw new Error(`${what} did not happen`);
}

function skip(who, why) {
  console.log(`${who} ... skipped: ${why}`);
}

// The older client always offers its newest revision; a host that is behind would offer an older one.
function behind(transport, revision) {
  const send = transport.send.bind(transport);
  transport.send = (message, ...rest) =>
    message.method === 'initialize'
      ? send({ ...message, params: { ...message.params, protocolVersion: revision } }, ...rest)
      : send(message, ...rest);
  return transport;
}

const info = { name: 'interop', version: '1' };

// The four things the clients spell differently.
async function connect1(make, Kind, revision, person) {
  const client = new Client1(info, { capabilities: person?.capabilities ?? {} });
  person?.serve((method, handler) =>
    client.setRequestHandler(
      { 'elicitation/create': types1.ElicitRequestSchema, 'sampling/createMessage': types1.CreateMessageRequestSchema }[method],
      handler,
    ),
  );
  await client.connect(behind(make(Kind), revision));
  return {
    client,
    call: (name, args = {}, options) => client.callTool({ name, arguments: args }, undefined, options),
    on: (method, handler) => {
      const schema = {
        'notifications/message': types1.LoggingMessageNotificationSchema,
        'notifications/resources/updated': types1.ResourceUpdatedNotificationSchema,
        'notifications/tools/list_changed': types1.ToolListChangedNotificationSchema,
      }[method];
      client.setNotificationHandler(schema, handler);
    },
    level: (level) => client.setLoggingLevel(level),
  };
}

async function connect2(make, Kind, revision, person, versionNegotiation) {
  const modern = revision === MODERN;
  const client = new Client2(info, {
    capabilities: person?.capabilities ?? {},
    versionNegotiation,
    ...(modern ? {} : { supportedProtocolVersions: [revision] }),
  });
  person?.serve((method, handler) => client.setRequestHandler(method, handler));
  await client.connect(make(Kind));
  assert.equal(client.getNegotiatedProtocolVersion(), revision);
  return {
    client,
    call: (name, args = {}, options) =>
      client.callTool(
        {
          name,
          arguments: args,
          ...(modern && name === 'log' ? { _meta: { 'io.modelcontextprotocol/logLevel': 'warning' } } : {}),
        },
        options,
      ),
    on: (method, handler) => client.setNotificationHandler(method, handler),
    level: async (level) => (modern ? undefined : client.setLoggingLevel(level)),
  };
}

// Page by page, with an explicit cursor from the second page on.
async function walk(fetch, member) {
  const items = [];
  let pages = 0;
  for (let page = await fetch({}); ; page = await fetch({ cursor: page.nextCursor })) {
    items.push(...page[member]);
    pages += 1;
    if (page.nextCursor === undefined) return { items, pages };
  }
}

const checks = {
  async negotiates({ client }) {
    assert.equal(client.getServerVersion().name, 'examples');
    assert.equal(client.getInstructions(), 'Call anything.');
    assert.ok(client.getServerCapabilities().tools.listChanged);
  },

  async lists_in_pages({ client, pagesByItself }) {
    const tools = await walk((params) => client.listTools(params), 'tools');
    assert.ok(tools.items.some((tool) => tool.name === 'add'));
    assert.equal(new Set(tools.items.map((tool) => tool.name)).size, tools.items.length);
    if (!pagesByItself) assert.ok(tools.pages > 1);
    const prompts = await walk((params) => client.listPrompts(params), 'prompts');
    assert.deepEqual(prompts.items.map((prompt) => prompt.name).sort(), ['describe', 'greet', 'review']);
    const resources = await walk((params) => client.listResources(params), 'resources');
    assert.ok(resources.items.some((resource) => resource.uri === 'counter://value'));
    assert.ok(resources.items.some((resource) => resource.uri === 'memo:///9'));
    const templates = await walk((params) => client.listResourceTemplates(params), 'resourceTemplates');
    assert.deepEqual(templates.items.map((item) => item.uriTemplate).sort(), ['memo:///{id}', 'tree:///{+path}']);
  },

  async refuses_a_bad_cursor({ client }) {
    await assert.rejects(client.listTools({ cursor: 'nonsense' }), { code: -32602 });
  },

  async calls({ client, call, revision }) {
    await client.listTools(); // the clients check structured output against the schemas they have seen
    assert.equal((await call('add', { a: 2, b: 3 })).content[0].text, '5');
    const weather = await call('weather', { city: 'Paris' });
    if (revision >= '2025-06-18') assert.equal(weather.structuredContent.temperature, 3);
    assert.match(weather.content[0].text, /clear/);
    for (const name of ['picture', 'sound', 'mixed']) {
      const result = await call(name);
      assert.ok(result.content.length > 0 && !result.isError);
    }
  },

  async reads_errors({ call }) {
    const shown = await call('fail');
    assert.ok(shown.isError);
    assert.match(shown.content[0].text, /this always fails/);
    assert.doesNotMatch(JSON.stringify(await call('fail_opaquely')), /secret/);
    const wrong = await call('add', { a: 'x' });
    assert.ok(wrong.isError);
    assert.match(wrong.content[0].text, /\/a/);
    await assert.rejects(call('nothing'), { code: -32602 });
    await assert.rejects(call('fall_over'), { code: -32603 });
    assert.equal((await call('print_something')).content[0].text, 'printed');
  },

  async gets_prompts({ client }) {
    const greet = await client.getPrompt({ name: 'greet' });
    assert.equal(greet.messages[0].content.text, 'Say hello.');
    const review = await client.getPrompt({
      name: 'review',
      arguments: { code: 'fn', language: 'rust', framework: 'axum' },
    });
    assert.match(review.messages[0].content.text, /axum/);
    await assert.rejects(client.getPrompt({ name: 'review', arguments: {} }), { code: -32602 });
  },

  async reads_resources({ client, revision, pagesByItself }) {
    assert.equal((await client.readResource({ uri: 'memo:///3' })).contents[0].text, 'memo 3');
    assert.ok((await client.readResource({ uri: 'image://pixel' })).contents[0].blob);
    await assert.rejects(client.readResource({ uri: 'memo:///99' }), {
      // The newer client shows the modern code whichever one it is sent.
      code: revision === MODERN || pagesByItself ? -32602 : -32002,
    });
  },

  async completes({ client }) {
    const ref = { type: 'ref/prompt', name: 'review' };
    const language = await client.complete({ ref, argument: { name: 'language', value: 'ru' } });
    assert.deepEqual(language.completion.values.slice(0, 2).sort(), ['ruby', 'rust']);
    const framework = await client.complete({
      ref,
      argument: { name: 'framework', value: 'a' },
      context: { arguments: { language: 'rust' } },
    });
    assert.ok(framework.completion.values.includes('axum'));
  },

  async follows_a_resource({ client, call, on, revision }) {
    const seen = [];
    on('notifications/resources/updated', ({ params }) => void seen.push(params.uri));
    const uri = 'counter://value';
    if (revision === MODERN) {
      const subscription = await client.listen({ resourceSubscriptions: [uri] });
      assert.deepEqual(subscription.honoredFilter.resourceSubscriptions, [uri]);
      await call('raise');
      await until('an update', () => seen.includes(uri));
      await subscription.close();
    } else {
      await client.subscribeResource({ uri });
      await call('raise');
      await until('an update', () => seen.includes(uri));
      await client.unsubscribeResource({ uri });
    }
    await call('raise');
    await call('echo', { text: 'settled' });
    assert.equal(seen.length, 1);
  },

  async hears_of_changed_lists({ client, call, on, revision }) {
    let changes = 0;
    on('notifications/tools/list_changed', () => void (changes += 1));
    const subscription = revision === MODERN ? await client.listen({ toolsListChanged: true }) : undefined;
    const names = async () => (await walk((params) => client.listTools(params), 'tools')).items.map((tool) => tool.name);
    assert.ok((await names()).includes('extra'));
    await call('switch_extra', { on: false });
    await until('a change', () => changes === 1);
    assert.ok(!(await names()).includes('extra'));
    await call('switch_extra', { on: true });
    await until('another change', () => changes === 2);
    await subscription?.close();
  },

  async sees_progress({ call }) {
    const steps = [];
    await call('count', { steps: 3, pause_ms: 80 }, { onprogress: (step) => steps.push(step) });
    assert.deepEqual(steps.map((step) => step.progress), [1, 2, 3]);
    assert.equal(steps.at(-1).total, 3);
  },

  async cancels({ call }) {
    const dropped = async () => Number((await call('dropped')).content[0].text);
    const before = await dropped();
    const stop = new AbortController();
    const call_ = call('doze', {}, { signal: stop.signal });
    await sleep(100);
    stop.abort('enough');
    await assert.rejects(call_);
    await until('the drop', async () => (await dropped()) === before + 1);
  },

  async logs_messages({ call, on, level }) {
    const seen = [];
    on('notifications/message', ({ params }) => void seen.push([params.level, params.data]));
    await level('warning');
    await call('log', { level: 'info', text: 'quiet' });
    await call('log', { level: 'error', text: 'loud' });
    await until('a message', () => seen.length > 0);
    assert.deepEqual(seen, [['error', 'loud']]);
  },
};

// Each has its connection to itself: a cut ends more than one call.
const resuming = {
  async resumes_a_call({ call, relay }) {
    const steps = [];
    const onprogress = (step) => {
      steps.push(step.progress);
      if (step.progress === 1) relay.cut();
    };
    const result = await call('count', { steps: 3, pause_ms: 100 }, { onprogress });
    assert.ok(!result.isError);
    assert.deepEqual(steps, [1, 2, 3]);
  },

  async hears_what_it_missed({ call, on, relay }) {
    let changes = 0;
    on('notifications/tools/list_changed', () => void (changes += 1));
    await call('switch_extra', { on: false });
    await until('a change', () => changes === 1); // so the stream is open
    relay.cut();
    await sleep(100); // the clients wait a second before they come back
    await call('switch_extra', { on: true });
    await until('another change', () => changes === 2);
  },
};

// Answers questions of the example `deploy`, and stands for its model.
class Person {
  asked = [];
  summedUp = [];

  constructor(action, approve, hasModel = true) {
    Object.assign(this, { action, approve, hasModel });
    this.capabilities = { elicitation: {}, ...(hasModel ? { sampling: {} } : {}) };
  }

  serve(handle) {
    handle('elicitation/create', ({ params }) => {
      this.asked.push(params);
      const content = { approve: this.approve, target: 'production', instances: 3, note: 'on a Friday' };
      return this.action === 'accept' ? { action: 'accept', content } : { action: this.action };
    });
    if (!this.hasModel) return;
    handle('sampling/createMessage', ({ params }) => {
      this.summedUp.push(params);
      return { role: 'assistant', content: { type: 'text', text: 'All is well.' }, model: 'none', stopReason: 'endTurn' };
    });
  }
}

const DONE = 'v1 is on Production, 3 instances (on a Friday)';

async function deploys({ call, person }) {
  const result = await call('deploy', { service: 'shop' });
  assert.ok(!result.isError, JSON.stringify(result));
  assert.equal(result.content[0].text, person.hasModel ? 'All is well.' : DONE);
  assert.deepEqual(person.asked.map((question) => question.message), [
    'Deploy shop? build shop v1, test shop v1, start shop v1',
  ]);
  assert.deepEqual(Object.keys(person.asked[0].requestedSchema.properties).sort(), [
    'approve',
    'instances',
    'note',
    'target',
  ]);
  assert.equal(person.summedUp.length, person.hasModel ? 1 : 0);
  if (person.hasModel) assert.ok(JSON.stringify(person.summedUp[0].messages).includes(DONE));
}

async function does_not_deploy({ call, person }) {
  const result = await call('deploy', { service: 'shop' });
  assert.ok(result.isError);
  assert.equal(person.asked.length, 1);
  assert.equal(person.summedUp.length, 0);
  if (person.action === 'accept') assert.match(result.content[0].text, /not approved/);
}

async function says_that_it_cannot_ask({ call, revision }) {
  const asked = call('deploy', { service: 'shop' });
  if (revision === MODERN) await assert.rejects(asked, { code: -32021 });
  else assert.ok((await asked).isError);
}

// What is asked of `deploy`, and who is there to answer.
const scenes = {
  approved: [deploys, () => new Person('accept', true)],
  approved_without_a_model: [deploys, () => new Person('accept', true, false)],
  not_approved: [does_not_deploy, () => new Person('accept', false)],
  declined: [does_not_deploy, () => new Person('decline')],
  cancelled: [does_not_deploy, () => new Person('cancel')],
  nobody_to_ask: [says_that_it_cannot_ask, () => undefined],
};

async function drive(who, transport, revision, connect, example, checks, { relay, person, ...extra }) {
  let session;
  let server;
  try {
    server = await reach(join(examples, example), transport, relay);
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
  await drive(who, transport, revision, connect, 'everything', checks, extra);
  if (transport === 'http' && revision !== MODERN) {
    for (const [name, check] of Object.entries(resuming)) {
      await drive(who, transport, revision, connect, 'everything', { [name]: check }, { ...extra, relay: new Relay() });
    }
  }
  if (transport === 'sse') return; // `deploy` does not switch it on
  for (const [name, [check, person]] of Object.entries(scenes)) {
    if (revision < '2025-06-18' && name !== 'nobody_to_ask') continue;
    await drive(`${who} deploy`, transport, revision, connect, 'deploy', { [name]: check }, { ...extra, person: person() });
  }
  if (revision < '2025-06-18') skip(`${who} deploy`, 'elicitation came with 2025-06-18');
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

console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
