// JSON as a tree, with members that differ from another value marked, and arrays of objects as tables.

import { amount, el, long } from './dom.js';
import { isObject, isRaw, stringify } from './exact.js';

const MAX_CHILDREN = 200;
const MAX_STRING = 2_000;
const NONE = Symbol('none');

/** Shows a value. `other`: the value of the other side, whose differences are marked. `open`: levels that are unfolded. */
export function tree(value, { other = NONE, open = 3 } = {}) {
  return el('div.tree', null, node(null, value, other, open, true));
}

export const same = (one, other) => canonical(one) === canonical(other);

function canonical(value) {
  return stringify(sorted(value, 0));
}

function sorted(value, depth) {
  if (depth > 200) return null;
  if (Array.isArray(value)) return value.map((entry) => sorted(entry, depth + 1));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name], depth + 1)]));
}

function node(name, value, other, open, last) {
  const differs = other !== NONE && !same(value, other === undefined ? NONE : other);
  const label = name === null ? null : [el('span.member', null, stringify(name)), ': '];
  const comma = last ? '' : ',';
  const list = Array.isArray(value);
  if (!list && !isObject(value)) {
    return el(differs ? 'div.leaf.differs' : 'div.leaf', null, label, scalar(value), comma);
  }
  const entries = list ? value.map((entry, at) => [null, entry, at]) : Object.entries(value);
  const [start, end] = list ? ['[', ']'] : ['{', '}'];
  if (!entries.length) return el(differs ? 'div.leaf.differs' : 'div.leaf', null, label, `${start}${end}${comma}`);
  // A member that the other side has too is marked where it differs within, not as a whole.
  const alien = differs && (other === undefined || Array.isArray(other) !== list || !(list || isObject(other)));
  const count = `${amount(entries.length)} ${list ? (entries.length === 1 ? 'entry' : 'entries') : entries.length === 1 ? 'member' : 'members'}`;
  const body = el('div.children');
  const details = el(alien ? 'details.differs' : 'details', { open: open > 0 },
    el('summary', null, label, start, el('span.count', null, ` ${count} `), el('span.folded', null, end + comma)),
    body, el('div.leaf.end', null, end + comma));
  let shown = 0;
  const more = () => {
    const until = Math.min(shown + MAX_CHILDREN, entries.length);
    for (; shown < until; shown += 1) {
      const [key, child, at] = entries[shown];
      const counterpart = other === NONE || alien ? NONE : list ? other[at] : Object.hasOwn(other, key) ? other[key] : undefined;
      body.append(node(key, child, counterpart, open - 1, shown === entries.length - 1));
    }
    if (shown < entries.length) {
      const button = el('button.quiet', { type: 'button' }, `${amount(entries.length - shown)} more`);
      button.onclick = () => { button.remove(); more(); };
      body.append(button);
    }
  };
  if (open > 0) more();
  else details.addEventListener('toggle', () => { if (!shown) more(); }, { once: true });
  return details;
}

function scalar(value) {
  if (isRaw(value)) return el('span.number', null, value.rawJSON);
  if (typeof value !== 'string') return el(`span.${value === null ? 'null' : typeof value}`, null, String(value));
  if (value.length <= MAX_STRING) return el('span.string', null, stringify(value));
  const text = el('span.string', null, stringify(value.slice(0, MAX_STRING)).slice(0, -1), '…');
  const button = el('button.quiet', { type: 'button' }, `${amount(value.length)} characters`);
  button.onclick = () => { text.replaceWith(long(stringify(value))); button.remove(); };
  return [text, ' ', button];
}

const MAX_ROWS = 100;
const MAX_COLUMNS = 12;

/** Shows an array of objects as a table, or returns undefined if it is something else. */
export function rows(value) {
  if (!Array.isArray(value) || !value.length || !value.every(isObject)) return undefined;
  const columns = [...new Set(value.slice(0, MAX_ROWS).flatMap(Object.keys))];
  if (!columns.length || columns.length > MAX_COLUMNS) return undefined;
  const body = el('tbody');
  const cell = (one) => {
    if (one === undefined) return el('td');
    if (isRaw(one) || typeof one === 'number') return el('td', null, one?.rawJSON ?? String(one));
    if (typeof one === 'string') return el('td', null, one.length > 300 ? `${one.slice(0, 300)}…` : one);
    return el('td', null, el('code', null, stringify(one).slice(0, 300)));
  };
  let shown = 0;
  const box = el('div.scroll', { tabIndex: 0, role: 'region', 'aria-label': 'table' }, el('table', null,
    el('thead', null, el('tr', null, columns.map((name) => el('th', null, name)))), body));
  const more = () => {
    for (const until = Math.min(shown + MAX_ROWS, value.length); shown < until; shown += 1) {
      body.append(el('tr', null, columns.map((name) => cell(value[shown][name]))));
    }
    if (shown < value.length) {
      const button = el('button.quiet', { type: 'button' }, `${amount(value.length - shown)} more rows`);
      button.onclick = () => { button.remove(); more(); };
      box.append(button);
    }
  };
  more();
  return box;
}
