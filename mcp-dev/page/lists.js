// The lists of tools, prompts, resources, templates and skills, with a search.

import { list, on, state } from './client.js';
import { el, fill } from './dom.js';

const KINDS = [
  { kind: 'tools', method: 'tools', member: 'tools', label: 'Tools', capability: 'tools' },
  { kind: 'prompts', method: 'prompts', member: 'prompts', label: 'Prompts', capability: 'prompts' },
  { kind: 'resources', method: 'resources', member: 'resources', label: 'Resources', capability: 'resources' },
  { kind: 'templates', method: 'resources/templates', member: 'resourceTemplates', label: 'Templates', capability: 'resources' },
  { kind: 'skills', method: 'skills', member: 'skills', label: 'Skills', extension: 'io.modelcontextprotocol/skills' },
];
const MAX_SHOWN = 500;

/** Returns what identifies a definition within its kind. */
export const idOf = (kind, item) => String((kind === 'resources' || kind === 'skills' ? item.uri : kind === 'templates' ? item.uriTemplate : item.name) ?? '');

/** Returns what people call a definition. */
const nameOf = (kind, item) => {
  if (kind === 'skills') return item.frontmatter?.name ?? idOf(kind, item);
  return kind === 'tools' || kind === 'prompts' ? idOf(kind, item) : item.name ?? idOf(kind, item);
};

/** Starts the lists. `choose(kind, item)` shows a definition; it is called again when the definition has changed. */
export function startLists(choose) {
  const found = document.getElementById('found');
  const search = document.getElementById('search');
  let lists = {};
  let known;
  let selected;
  let turn = 0;

  const load = async () => {
    const mine = turn += 1;
    const { era } = state;
    const capabilities = state.eras[era].capabilities ?? {};
    const wanted = KINDS.filter(({ capability, extension }) => (extension ? capabilities.extensions?.[extension] : capabilities[capability]));
    const loaded = await Promise.all(wanted.map(({ method, member }) => list(method, member, era)));
    if (mine !== turn) return;
    lists = Object.fromEntries(wanted.map(({ kind }, at) => [kind, loaded[at]]));
    state.tools = lists.tools?.items ?? [];
    const all = new Set(wanted.flatMap(({ kind }) => lists[kind].items.map((item) => `${kind} ${idOf(kind, item)}`)));
    const fresh = known ? [...all].filter((one) => !known.has(one)) : [];
    known = all;
    render(new Set(fresh));
    const kind = selected?.kind;
    const again = kind && lists[kind]?.items.find((item) => idOf(kind, item) === selected.id);
    if (again) choose(kind, again);
    else if (!selected) first();
  };

  const first = () => {
    for (const { kind } of KINDS) {
      const item = lists[kind]?.items[0];
      if (item) return pick(kind, item);
    }
    choose(null, null);
  };

  const pick = (kind, item) => {
    selected = { kind, id: idOf(kind, item) };
    for (const button of found.querySelectorAll('button[data-id]')) {
      const chosen = button.dataset.kind === kind && button.dataset.id === selected.id;
      button.setAttribute('aria-current', String(chosen));
    }
    choose(kind, item);
  };

  const render = (fresh = new Set()) => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (item) => {
      const text = [item.name, item.title, item.uri, item.uriTemplate, item.description, item.frontmatter?.name, item.frontmatter?.description].join(' ').toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const { kind: focusedKind, id: focusedId } = found.contains(document.activeElement) ? document.activeElement.dataset : {};
    fill(found, KINDS.filter(({ kind }) => lists[kind]).map(({ kind, label }) => {
      const { items, problem } = lists[kind];
      const shown = items.filter(fits);
      if (!shown.length && !problem) return null;
      return el('section', null,
        el('h2', null, label, el('span.hint', null, words.length ? ` ${shown.length} of ${items.length}` : ` ${items.length}`)),
        problem && el('p.problem', null, problem),
        el('ul', null, shown.slice(0, MAX_SHOWN).map((item) => {
          const id = idOf(kind, item);
          const button = el('button.item', { type: 'button', data: { kind, id }, 'aria-current': String(selected?.kind === kind && selected.id === id), onclick: () => pick(kind, item) },
            el('span.item-name', null, String(nameOf(kind, item))), item.title && el('span.item-title', null, item.title));
          if (fresh.has(`${kind} ${id}`)) button.classList.add('fresh');
          return el('li', null, button);
        })),
        shown.length > MAX_SHOWN && el('p.about', null, `and ${shown.length - MAX_SHOWN} more: search for them`));
    }));
    const focused = focusedId !== undefined && [...found.querySelectorAll('button[data-id]')].find(({ dataset }) => dataset.kind === focusedKind && dataset.id === focusedId);
    if (focused) focused.focus();
    if (!found.childElementCount) found.append(el('p.about', null, words.length ? 'Nothing matches these words.' : known ? 'The server has no definitions.' : ''));
  };

  search.oninput = () => render();
  search.onkeydown = (event) => {
    if (event.key === 'Enter' || event.key === 'ArrowDown') {
      event.preventDefault();
      found.querySelector('button.item')?.focus();
    } else if (event.key === 'Escape') { search.value = ''; render(); }
  };
  found.onkeydown = (event) => {
    const items = [...found.querySelectorAll('button.item')];
    const at = items.indexOf(document.activeElement);
    const next = { ArrowDown: items[at + 1], ArrowUp: at === 0 ? search : items[at - 1], Home: items[0], End: items.at(-1) }[event.key];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
  };
  document.addEventListener('keydown', (event) => {
    const typing = event.target.closest?.('input, textarea, select');
    if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      search.focus();
    }
  });

  on('ready', (era) => { if (era === state.era) load(); });
  let due;
  // Many changes at once are one.
  on('list-changed', (era) => { if (era === state.era) due ??= setTimeout(() => { due = undefined; load(); }, 100); });
  on('reset', () => { known = undefined; });
  // Something else than a definition is shown.
  on('elsewhere', () => {
    selected = {};
    render();
  });
}
