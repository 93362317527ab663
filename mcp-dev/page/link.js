// The connection to mcp-dev: actions as requests, events as one stream that is opened again when it breaks.

const KEY = 'mcp-dev-token';

if (location.hash.length > 1) {
  sessionStorage.setItem(KEY, location.hash.slice(1));
  history.replaceState(null, '', '/');
}
const headers = { 'x-mcp-dev-token': sessionStorage.getItem(KEY) ?? '' };

/** Has mcp-dev do something. Fails with the reason that it gives. */
export async function act(action, body) {
  const request = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body };
  const response = await fetch(`/api/${action}`, request);
  if (!response.ok) throw new Error(await response.text());
}

/** Has mcp-dev do something, and returns what it answers. */
export async function ask(action, body, signal) {
  const request = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body), signal };
  const response = await fetch(`/api/${action}`, request);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

/** Returns the whole text of a message. */
export async function messageText(seq) {
  const response = await fetch(`/api/messages/${seq}`, { headers });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

/** Follows the events. `state` is told `open`, `lost` or `refused`. */
export async function follow(handle, state) {
  for (;;) {
    try {
      const response = await fetch('/api/events', { headers });
      if (response.status === 401) return state('refused');
      if (!response.ok) throw new Error(response.statusText);
      state('open');
      await read(response.body, handle);
    } catch (error) {
      console.warn(error);
    }
    state('lost');
    await new Promise((resume) => setTimeout(resume, 1_000));
  }
}

async function read(body, handle) {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let parts = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const chunk = decoder.decode(value, { stream: true });
    parts.push(chunk);
    // An event of many chunks is put together once.
    if (!chunk.includes('\n')) continue;
    const events = parts.join('').split('\n\n');
    parts = [events.pop()];
    for (const event of events) {
      if (!event.startsWith('data: ')) continue;
      const told = JSON.parse(event.slice(6));
      if (told.type === 'behind') return reader.cancel();
      try { handle(told); } catch (error) { console.error(error); }
    }
  }
}
