// Every message on the wire, and the log: log messages of the server, and what its process writes to standard error.

import { emit, on, request, state } from './client.js';
import { amount, attempt, copy, el, fill, long, size } from './dom.js';
import { stringify } from './exact.js';
import { messageText } from './link.js';
import { tree } from './tree.js';

const MAX_ROWS = 400;
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency', 'off'];
const methods = new Map();

/** Says in a few words what a message is. */
export function title(message) {
  const { json } = message;
  if (message.notes?.stray) return message.notes.stray;
  if (!json) return 'a large message';
  if (json.method) return json.method + (json.params?.name || json.params?.uri ? ` ${json.params.name ?? json.params.uri}` : '');
  const asked = methods.get(key(message.era, !message.sent, json.id));
  const kind = json.error ? 'error' : json.result?.resultType === 'input_required' ? 'question' : json.result?.isError ? 'tool error' : 'result';
  return asked ? `${kind} of ${asked}` : `${kind} ${json.id}`;
}

const key = (era, sent, id) => `${era} ${sent} ${JSON.stringify(id)}`;

/** Shows a message in full. */
export function messageView(message, options = {}) {
  const { notes } = message;
  const about = [];
  if (notes?.status) about.push(el('p.about', null, `HTTP ${notes.status}, ${notes.contentType || 'no content type'}`));
  if (notes?.headers) about.push(el('pre.headers', null, Object.entries(notes.headers).map(([name, value]) => `${name}: ${value}`).join('\n')));
  if (notes?.stray) about.push(el('p.problem', null, notes.stray), message.text ? long(message.text) : null);
  else if (message.json) about.push(tree(message.json, options));
  else about.push(largeView(message));
  const text = async () => message.text ?? (await messageText(message.seq));
  return el('div.message-view', null, about, el('p.actions', null, copy('Copy', text)));
}

function largeView(message) {
  const button = el('button.quiet', { type: 'button' }, `Show ${size(message.bytes)}`);
  const box = el('div', null, button);
  button.onclick = async () => {
    try {
      fill(box, long(await messageText(message.seq)));
    } catch (error) {
      fill(box, el('p.about', null, error.message));
    }
  };
  return box;
}

function rowOf(message) {
  const failed = message.notes?.stray || message.json?.error || message.json?.result?.isError;
  const details = el(failed ? 'details.wire.failed' : 'details.wire', null, el('summary', null,
    el('span.arrow', { 'aria-label': message.sent ? 'sent' : 'received' }, message.sent ? '→' : '←'),
    el(`span.dot.${message.era}`, { title: message.era }),
    el('span.what', null, title(message)),
    el('span.hint', null, size(message.bytes)),
    el('time', null, (message.at / 1e3).toFixed(3))));
  details.addEventListener('toggle', () => details.append(messageView(message)), { once: true });
  return details;
}

/** Fills the panel, and keeps it filled. */
export function startWire() {
  const panels = { wire: document.getElementById('messages'), log: document.getElementById('log') };
  const tabs = { wire: document.getElementById('tab-wire'), log: document.getElementById('tab-log') };
  const level = document.getElementById('level');
  const skippedNote = document.getElementById('skipped');
  const choose = (name) => {
    for (const other of ['wire', 'log']) {
      tabs[other].setAttribute('aria-selected', String(other === name));
      tabs[other].tabIndex = other === name ? 0 : -1;
      panels[other].hidden = other !== name;
    }
    level.parentElement.hidden = name !== 'log';
    tabs[name].classList.remove('news');
    panels[name].scrollTop = panels[name].scrollHeight;
  };
  for (const name of ['wire', 'log']) {
    tabs[name].onclick = () => choose(name);
    tabs[name].onkeydown = (event) => {
      if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
      const other = name === 'wire' ? 'log' : 'wire';
      choose(other);
      tabs[other].focus();
    };
  }
  choose('wire');

  // A panel shows the newest row until somebody scrolls up, however large the window is meanwhile.
  const following = { wire: true, log: true };
  const resized = new ResizeObserver((entries) => {
    for (const { target: panel } of entries) if (following[panel === panels.wire ? 'wire' : 'log']) panel.scrollTop = panel.scrollHeight;
  });
  for (const name of ['wire', 'log']) {
    const panel = panels[name];
    panel.addEventListener('scroll', () => {
      if (!panel.hidden) following[name] = panel.scrollHeight - panel.scrollTop - panel.clientHeight < 40;
    });
    resized.observe(panel);
  }

  // Rows of one frame are added together, so that a flood costs one layout.
  const waiting = { wire: [], log: [] };
  const append = (name, row) => {
    if (!waiting.wire.length && !waiting.log.length) setTimeout(flush, 30);
    waiting[name].push(row);
  };
  const flush = () => {
    for (const name of ['wire', 'log']) {
      const panel = panels[name];
      const rows = waiting[name].splice(0).slice(-MAX_ROWS);
      if (!rows.length) continue;
      panel.append(...rows.map((row) => attempt(row)));
      while (panel.childElementCount > MAX_ROWS) panel.firstElementChild.remove();
      if (following[name]) panel.scrollTop = panel.scrollHeight;
      if (panel.hidden && name === 'log') tabs.log.classList.add('news');
    }
  };
  const logRow = (source, kind, text) => append('log', () => el(`div.log-row.${kind}`, null, el('span.source', null, source), el('span.log-text', null, text)));

  on('reset', () => {
    methods.clear();
    waiting.wire.length = waiting.log.length = 0;
    panels.wire.replaceChildren();
    panels.log.replaceChildren();
  });
  on('message', (message) => {
    const { json } = message;
    if (json?.method && json.id !== undefined) {
      methods.set(key(message.era, message.sent, json.id), json.method);
      if (methods.size > 2_000) methods.delete(methods.keys().next().value);
    }
    append('wire', () => rowOf(message));
    if (json?.method === 'notifications/message' && !message.sent) {
      const { level: kind = 'info', logger, data } = json.params ?? {};
      const known = LEVELS.includes(kind) ? kind : 'info';
      logRow(logger ? `${known} ${logger}` : known, known, typeof data === 'string' ? data : stringify(data));
    }
  });
  on('line', (line) => logRow(`stderr ${line.era}`, 'stderr', line.text));
  on('flood', (skipped) => {
    skippedNote.hidden = !skipped;
    fill(skippedNote, `The server writes too fast for this page: ${amount(skipped)} notifications and log lines were skipped.`);
  });

  fill(level, LEVELS.map((name) => el('option', { value: name }, name)));
  level.value = state.logLevel;
  level.onchange = () => {
    state.logLevel = level.value;
    const legacy = state.eras.legacy;
    if (legacy.state === 'ready' && legacy.capabilities?.logging && level.value !== 'off') request('logging/setLevel', { level: level.value }, { era: 'legacy' });
    emit('level');
  };
  document.getElementById('clear').onclick = () => panels[panels.wire.hidden ? 'log' : 'wire'].replaceChildren();
}
