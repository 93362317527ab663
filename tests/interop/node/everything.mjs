// Checks of the fixture `everything`.

import assert from 'node:assert/strict';

import { MODERN } from './clients.mjs';
import { follow, until, walk } from './session.mjs';

export const checks = {
  async negotiates({ client }) {
    assert.equal(client.getServerVersion().name, 'fixtures');
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
    for (const name of ['image', 'audio', 'mixed']) {
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

  async follows_a_resource(session) {
    const { call } = session;
    const following = await follow(session, { uri: 'counter://value' });
    await call('raise');
    await following.heard();
    await following.end();
    await call('raise');
    await call('echo', { text: 'settled' });
    assert.equal(following.seen(), 0);
  },

  async hears_of_changed_lists(session) {
    const { client, call } = session;
    const names = async () => (await walk((params) => client.listTools(params), 'tools')).items.map((tool) => tool.name);
    const following = await follow(session, { toolsListChanged: true });
    assert.ok((await names()).includes('extra'));
    await call('switch_extra', { on: false });
    await following.heard();
    assert.ok(!(await names()).includes('extra'));
    await call('switch_extra', { on: true });
    await following.heard();
    await following.end();
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
    const onprogress = () => stop.abort('enough'); // the call has begun
    await assert.rejects(call('count', { steps: 100, pause_ms: 1000 }, { signal: stop.signal, onprogress }));
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
