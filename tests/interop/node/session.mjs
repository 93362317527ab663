// Lists that come in pages, and notices that come by themselves.

import { setTimeout as sleep } from 'node:timers/promises';

import { MODERN } from './clients.mjs';
import { PATIENCE } from './reach.mjs';

export async function until(what, condition) {
  for (const end = Date.now() + PATIENCE; Date.now() < end; await sleep(10)) {
    const value = await condition();
    if (value) return value;
  }
  throw new Error(`${what} did not happen`);
}

// Page by page, with an explicit cursor from the second page on.
export async function walk(fetch, member) {
  const items = [];
  let pages = 0;
  for (let page = await fetch({}); ; page = await fetch({ cursor: page.nextCursor })) {
    items.push(...page[member]);
    pages += 1;
    if (page.nextCursor === undefined) return { items, pages };
  }
}

// Follows a resource, or lists; gives what awaits the next notice, and what ends it.
export async function follow({ client, on, revision }, { uri, ...lists }) {
  let seen = 0;
  const noticed = { resourcesListChanged: 'resources/list_changed', toolsListChanged: 'tools/list_changed' };
  for (const list of Object.keys(lists)) on(`notifications/${noticed[list]}`, () => void (seen += 1));
  if (uri) on('notifications/resources/updated', ({ params }) => void (seen += params.uri === uri));
  let subscription;
  if (revision === MODERN) {
    subscription = await client.listen({ ...lists, ...(uri && { resourceSubscriptions: [uri] }) });
  } else if (uri) {
    await client.subscribeResource({ uri });
  }
  return {
    seen: () => seen,
    async heard() {
      await until('a notice', () => seen > 0);
      seen = 0;
    },
    async end() {
      await (uri && revision !== MODERN ? client.unsubscribeResource({ uri }) : subscription?.close());
    },
  };
}
