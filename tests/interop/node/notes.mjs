// Checks of the example `notes`.

import assert from 'node:assert/strict';

import { follow, walk } from './session.mjs';

export const notes = {
  async works_on_notes({ client, call, revision }) {
    await client.listTools(); // the clients check structured output against the schemas they have seen
    for (let number = 0; number < 60; number += 1) { // more than a page
      await call('add', { topic: number % 2 === 0 ? 'even' : 'odd', text: `number ${number}` });
    }
    const found = await call('search', { words: 'NUMBER 5', limit: 3 });
    if (revision >= '2025-06-18') assert.deepEqual(found.structuredContent.notes.map((note) => note.id), [60, 59, 58]);
    assert.match(found.content[0].text, /number 59/);
    assert.ok(!(await call('edit', { id: 1, topic: 'edited' })).isError);
    assert.ok(!(await call('delete', { id: 2 })).isError);
    const gone = await call('delete', { id: 2 });
    assert.ok(gone.isError);
    assert.match(gone.content[0].text, /there is no note 2/);
  },

  async lists_notes_in_pages({ client, pagesByItself }) {
    const resources = await walk((params) => client.listResources(params), 'resources');
    assert.equal(new Set(resources.items.map((resource) => resource.uri)).size, 59);
    assert.equal(resources.items.length, 59);
    if (!pagesByItself) assert.ok(resources.pages > 1);
    const templates = await walk((params) => client.listResourceTemplates(params), 'resourceTemplates');
    assert.deepEqual(templates.items.map((item) => item.uriTemplate), ['notes:///{id}']);
  },

  async reads_notes({ client }) {
    assert.equal((await client.readResource({ uri: 'notes:///3' })).contents[0].text, 'number 2');
    await assert.rejects(client.readResource({ uri: 'notes:///2' }));
    await assert.rejects(client.readResource({ uri: 'notes:///two' }));
  },

  async completes_notes({ client }) {
    const note = { type: 'ref/resource', uri: 'notes:///{id}' };
    const ids = await client.complete({ ref: note, argument: { name: 'id', value: '6' } });
    assert.deepEqual(ids.completion.values.slice(0, 2).sort(), ['6', '60']);
    const discuss = { type: 'ref/prompt', name: 'discuss' };
    const topics = await client.complete({ ref: discuss, argument: { name: 'topic', value: 'ed' } });
    assert.equal(topics.completion.values[0], 'edited');
    const { messages } = await client.getPrompt({ name: 'discuss', arguments: { topic: 'edited' } });
    assert.equal(messages[0].content.resource.text, 'number 0');
    assert.match(messages[1].content.text, /edited/);
  },

  async follows_a_note(session) {
    const { client, call } = session;
    const note = await follow(session, { uri: 'notes:///4' });
    await call('edit', { id: 4, text: 'followed' });
    await note.heard();
    await note.end();
    assert.equal((await client.readResource({ uri: 'notes:///4' })).contents[0].text, 'followed');
    const list = await follow(session, { resourcesListChanged: true });
    await call('add', { topic: 'new', text: 'new' });
    await list.heard();
    await list.end();
  },
};
