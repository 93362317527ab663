// The lists of tools, prompts, resources, templates and skills, with a search.

import { list, on, state } from './client.js';
import { el } from './dom.js';

const KINDS = [
  { kind: 'tools', method: 'tools', member: 'tools', label: 'Tools', capability: 'tools' },
  { kind: 'prompts', method: 'prompts', member: 'prompts', label: 'Prompts', capability: 'prompts' },
  { kind: 'resources', method: 'resources', member: 'resources', label: 'Resources', capability: 'resources' },
  { kind: 'templates', method: 'resources/templates', member: 'resourceTemplates', label: 'Templates', capability: 'resources' },
  { kind: 'skills', method: 'skills', member: 'skills', label: 'Skills', extension: 'io.modelcontextprotocol/skills' },
];
const MAX_SHOWN = 500;
/** Items of a list that are shown before it is unfolded, so that the lists below it can be seen. */
const MAX_UNFOLDED = 20;

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
  /**
   * What is known of each kind that the server has: its items, the reason that there are no more, whether the list is being loaded,
   * and whether this is for the first time.
   */
  let lists = {};
  /** The era of the lists, and the definitions in it before the last change, by kind. Definitions that are new stand out. */
  let shownEra;
  let known;
  /** The ids of definitions that are new, by kind. */
  let fresh = {};
  /** The kinds that are shown whole. */
  const unfolded = new Set();
  let selected;
  let turn = 0;

  /** Loads all lists at once. Each is shown as it arrives. */
  const load = async () => {
    const mine = turn += 1;
    const { era } = state;
    if (era !== shownEra) {
      lists = {};
      known = undefined;
    }
    shownEra = era;
    fresh = {};
    const capabilities = state.eras[era].capabilities ?? {};
    const wanted = KINDS.filter(({ capability, extension }) => (extension ? capabilities.extensions?.[extension] : capabilities[capability]));
    // While a list is loaded again, the items that are known stay.
    lists = Object.fromEntries(wanted.map(({ kind }) => [kind, { items: [], ...lists[kind], problem: undefined, isLoading: true, isFirst: lists[kind]?.isFirst ?? true }]));
    render();
    const arrived = (kind, update) => {
      if (mine !== turn) return;
      Object.assign(lists[kind], update);
      const ids = lists[kind].items.map((item) => idOf(kind, item));
      if (known && !lists[kind].isLoading) fresh[kind] = new Set(ids.filter((id) => !known[kind]?.has(id)));
      render(kind);
      const again = selected?.kind === kind && lists[kind].items.find((item) => idOf(kind, item) === selected.id);
      if (again) choose(kind, again);
      else if (!selected) first();
    };
    await Promise.all(wanted.map(async ({ kind, method, member }) => {
      const page = (items) => { if (mine === turn && lists[kind].isFirst) arrived(kind, { items: [...items] }); };
      const { items, problem } = await list(method, member, era, page);
      arrived(kind, { items, problem, isLoading: false, isFirst: false });
    }));
    if (mine !== turn) return;
    known = Object.fromEntries(wanted.map(({ kind }) => [kind, new Set(lists[kind].items.map((item) => idOf(kind, item)))]));
    if (!found.querySelector('section')) render();
    if (!selected) first();
  };

  /** Shows the first definition, unless a list before it is still to arrive. */
  const first = () => {
    for (const { kind } of KINDS) {
      const { items: [item] = [], isLoading } = lists[kind] ?? {};
      if (item) return pick(kind, item);
      if (isLoading) return undefined;
    }
    return choose(null, null);
  };

  const pick = (kind, item) => {
    selected = { kind, id: idOf(kind, item) };
    for (const button of found.querySelectorAll('button[data-id]')) {
      const chosen = button.dataset.kind === kind && button.dataset.id === selected.id;
      button.setAttribute('aria-current', String(chosen));
    }
    choose(kind, item);
  };

  /** Draws all lists, or the list of one kind. What has the focus keeps it. */
  const render = (only) => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const { kind: focusedKind, id: focusedId } = found.contains(document.activeElement) ? document.activeElement.dataset : {};
    const sections = KINDS.filter(({ kind }) => lists[kind]).map(({ kind, label }) => {
      const drawn = found.querySelector(`section[data-kind="${kind}"]`);
      return only && only !== kind ? drawn : section(kind, label, words);
    });
    if (!sections.some(Boolean)) {
      const { state: connection } = state.eras[state.era];
      const reason = words.length ? 'Nothing matches these words.' : known ? 'The server has no definitions.' : connection === 'connecting' ? 'Loading…' : '';
      sections.push(el('p.about', null, reason));
    }
    // Nodes that stay are not moved, because a node that is moved loses the focus, and its animation begins again.
    const nodes = sections.filter(Boolean);
    for (const node of [...found.childNodes]) if (!nodes.includes(node)) node.remove();
    nodes.forEach((node, at) => { if (found.childNodes[at] !== node) found.insertBefore(node, found.childNodes[at] ?? null); });
    if (focusedKind === undefined || found.contains(document.activeElement)) return;
    const buttons = [...found.querySelectorAll(`section[data-kind="${focusedKind}"] button`)];
    buttons.find(({ dataset }) => dataset.id === focusedId)?.focus();
  };

  /** The list of one kind, or null if it has nothing to show. */
  const section = (kind, label, words) => {
    const { items, problem, isLoading, isFirst } = lists[kind];
    const fits = (item) => {
      const text = [item.name, item.title, item.uri, item.uriTemplate, item.description, item.frontmatter?.name, item.frontmatter?.description].join(' ').toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const fitting = items.filter(fits);
    const isWaiting = isLoading && isFirst;
    if (!fitting.length && !problem && !isWaiting) return null;
    const stays = (item) => fresh[kind]?.has(idOf(kind, item)) || (selected?.kind === kind && selected.id === idOf(kind, item));
    const isFolded = fitting.length > MAX_UNFOLDED && !unfolded.has(kind);
    const shown = fitting.filter((item, at) => !isFolded || at < MAX_UNFOLDED || stays(item)).slice(0, MAX_SHOWN);
    return el('section', { data: { kind }, 'aria-busy': String(isWaiting) },
      el('h2', null, label, el('span.hint', null, words.length ? ` ${fitting.length} of ${items.length}` : items.length || !isWaiting ? ` ${items.length}` : ''),
        isWaiting && el('span.hint.loading', null, ' loading…')),
      problem && el('p.problem', null, problem),
      el('ul', null, shown.map((item) => {
        const id = idOf(kind, item);
        const button = el('button.item', { type: 'button', data: { kind, id }, 'aria-current': String(selected?.kind === kind && selected.id === id), onclick: () => pick(kind, item) },
          el('span.item-name', null, String(nameOf(kind, item))), item.title && el('span.item-title', null, item.title));
        if (fresh[kind]?.has(id)) button.classList.add('fresh');
        return el('li', null, button);
      })),
      fitting.length > MAX_UNFOLDED && fold(kind, fitting.length, isFolded),
      !isFolded && fitting.length > MAX_SHOWN && el('p.about', null, `and ${fitting.length - MAX_SHOWN} more: search for them`));
  };

  /** The button that shows a long list whole, or its beginning. */
  const fold = (kind, length, isFolded) => el('button.quiet.fold', {
    type: 'button', data: { kind }, 'aria-expanded': String(!isFolded),
    onclick: () => {
      if (isFolded) unfolded.add(kind);
      else unfolded.delete(kind);
      render(kind);
    },
  }, isFolded ? `Show all ${length}` : 'Show fewer');

  search.oninput = () => {
    fresh = {};
    render();
  };
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
  on('era', (era) => { if (era === state.era && !Object.keys(lists).length) render(); });
  on('reset', () => { known = undefined; });
  // Something else than a definition is shown.
  on('elsewhere', () => {
    selected = {};
    render();
  });
}
