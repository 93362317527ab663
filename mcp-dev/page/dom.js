// Elements, and texts of a server: shown as text, with every character that would act or hide shown by its number.

// Controls except tab and line feed, marks and overrides of direction, invisible characters, tags.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

const code = (character) => 'U+' + character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');

/** Returns a text without hidden characters, for places that hold only text, such as attributes and options. */
export const plain = (text) => String(text).replace(HIDDEN, (character) => `[${code(character)}]`);

/** Returns nodes for a text. */
export function visible(text) {
  text = String(text);
  const nodes = document.createDocumentFragment();
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    nodes.append(text.slice(from, match.index));
    const mark = document.createElement('span');
    mark.className = 'hidden-character';
    mark.textContent = code(match[0]);
    nodes.append(mark);
    from = match.index + match[0].length;
  }
  nodes.append(text.slice(from));
  return nodes;
}

/** Makes an element: `el('button.quiet', {onclick}, 'Copy')`. Strings become visible text; null and false are left out. */
export function el(kind, properties, ...children) {
  const [tag, ...classes] = kind.split('.');
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(' ');
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null) continue;
    if (name.startsWith('aria-') || ['list', 'for', 'role', 'colspan'].includes(name)) element.setAttribute(name, plain(value));
    else if (name === 'data') Object.assign(element.dataset, value);
    else element[name] = typeof value === 'string' && name !== 'value' ? plain(value) : value;
  }
  add(element, children);
  return element;
}

/** Appends children as `el` does. */
export function add(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    if (child instanceof Node) element.append(child);
    else if (element.tagName === 'OPTION') element.append(plain(child));
    else element.append(visible(child));
  }
  return element;
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

/** Returns what `make` makes, or what went wrong: one thing that cannot be shown does not keep others from it. */
export function attempt(make) {
  try {
    return make();
  } catch (error) {
    console.warn(error);
    return el('p.problem', null, `This cannot be shown: ${error.message}`);
  }
}

const FIRST = 20_000;
/** Characters that are added at once: a browser lays out millions of them too slowly. */
const STEP = 200_000;

/** Shows a text, and of a long one its beginning, with a button for more of it. */
export function long(text) {
  const pre = el('pre.text', null, text.slice(0, FIRST));
  if (text.length <= FIRST) return pre;
  let shown = FIRST;
  const more = el('button.quiet', { type: 'button' });
  const bar = el('p.actions', null, el('span.hint', null, ''), more, copy('Copy all', text));
  const label = () => {
    fill(bar.firstChild, `${amount(shown)} of ${amount(text.length)} characters`);
    fill(more, 'Show more');
    more.hidden = shown >= text.length;
  };
  more.onclick = () => {
    pre.append(visible(text.slice(shown, shown + STEP)));
    shown = Math.min(shown + STEP, text.length);
    label();
  };
  label();
  return el('div', null, pre, bar);
}

export const amount = (number) => Math.round(number).toLocaleString('en');

export function size(bytes) {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export const duration = (ms) => (ms < 1_000 ? `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / 1e3).toFixed(1)} s`);

/** A button that copies a text, and says so. */
export function copy(label, text) {
  const button = el('button.quiet', { type: 'button' }, label);
  button.onclick = async () => {
    await navigator.clipboard.writeText(typeof text === 'function' ? await text() : text);
    button.textContent = 'Copied';
    setTimeout(() => fill(button, label), 1_200);
  };
  return button;
}
