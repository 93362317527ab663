// Drives the example `everything` with both official TypeScript clients, once per revision each can negotiate.
//
// Usage: drive.mjs PATH_OF_EVERYTHING. Prints one line per check and `N passed, N failed` at the end.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { Client as Client2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as types1 from '@modelcontextprotocol/sdk/types.js';

const server = process.argv[2];
const LEGACY = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const MODERN = '2026-07-28';
const PATIENCE = 20_000;
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

// The older client always offers its newest revision; a host that is behind would offer an older one.
class Behind extends Stdio1 {
  constructor(parameters, revision) {
    super(parameters);
    this.revision = revision;
  }

  send(message) {
    if (message.method === 'initialize') {
      message = { ...message, params: { ...message.params, protocolVersion: this.revision } };
    }
    return super.send(message);
  }
}

const info = { name: 'interop', version: '1' };

// The four things the clients spell differently.
async function connect1(revision) {
  const client = new Client1(info, { capabilities: {} });
  await client.connect(new Behind({ command: server }, revision));
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

async function connect2(revision, versionNegotiation) {
  const modern = revision === MODERN;
  const client = new Client2(info, {
    capabilities: {},
    versionNegotiation,
    ...(modern ? {} : { supportedProtocolVersions: [revision] }),
  });
  await client.connect(new Stdio2({ command: server }));
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

async function drive(who, revision, connect, extra = {}) {
  let session;
  try {
    session = { ...(await connect()), revision, ...extra };
    say(who, 'connects');
  } catch (error) {
    say(who, 'connects', error);
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
}

for (const revision of LEGACY) await drive(`sdk ${revision}`, revision, () => connect1(revision));
// Without a cursor the newer client walks all pages by itself.
const newer = { pagesByItself: true };
for (const revision of LEGACY) {
  await drive(`client ${revision}`, revision, () => connect2(revision, { mode: 'legacy' }), newer);
}
await drive(`client ${MODERN} pinned`, MODERN, () => connect2(MODERN, { mode: { pin: MODERN } }), newer);
await drive(`client ${MODERN} auto`, MODERN, () => connect2(MODERN, { mode: 'auto' }), newer);

console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
