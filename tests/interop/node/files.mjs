// Checks of the example `files`, while its directory changes.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { follow, walk } from './session.mjs';

// A directory to serve inside of this one, and what is outside of it.
export async function directory(outside) {
  const root = join(outside, 'root');
  await mkdir(join(root, 'deep'), { recursive: true });
  for (let number = 0; number < 120; number += 1) { // more than a page
    await writeFile(join(root, 'deep', `${number}.txt`), `${number}`);
  }
  await writeFile(join(root, '100% sure?.bin'), Buffer.from([0xff, 0]));
  await writeFile(join(root, '.env'), 'hidden');
  await writeFile(join(outside, 'outside'), 'outside');
  return root;
}

export const files = {
  async lists_files_in_pages({ client, pagesByItself }) {
    const resources = await walk((params) => client.listResources(params), 'resources');
    const uris = resources.items.map((resource) => resource.uri);
    assert.equal(new Set(uris).size, 121);
    assert.equal(uris.length, 121);
    assert.ok(uris.includes('files:///deep/119.txt'));
    assert.ok(!uris.some((uri) => uri.includes('.env')));
    if (!pagesByItself) assert.ok(resources.pages > 1);
    const templates = await walk((params) => client.listResourceTemplates(params), 'resourceTemplates');
    assert.deepEqual(templates.items.map((item) => item.uriTemplate), ['files:///{+path}']);
  },

  async reads_files({ client }) {
    assert.equal((await client.readResource({ uri: 'files:///deep/7.txt' })).contents[0].text, '7');
    assert.equal((await client.readResource({ uri: 'files:///100%25%20sure%3F.bin' })).contents[0].blob, '/wA=');
    for (const path of ['.env', 'missing', '../outside', '%2e%2e/outside', '/etc/passwd']) {
      await assert.rejects(client.readResource({ uri: `files:///${path}` }));
    }
  },

  async completes_paths({ client }) {
    const ref = { type: 'ref/resource', uri: 'files:///{+path}' };
    const paths = await client.complete({ ref, argument: { name: 'path', value: 'deep/11' } });
    assert.ok(paths.completion.values.includes('deep/111.txt'));
  },

  async follows_a_file(session) {
    const { client, root } = session;
    const file = await follow(session, { uri: 'files:///deep/1.txt' });
    await writeFile(join(root, 'deep/1.txt'), 'changed');
    await file.heard();
    await file.end();
    assert.equal((await client.readResource({ uri: 'files:///deep/1.txt' })).contents[0].text, 'changed');
    const list = await follow(session, { resourcesListChanged: true });
    await writeFile(join(root, 'new.txt'), 'new');
    await list.heard();
    await list.end();
  },
};
