// One definition: what it says, the form of its arguments, calling it, and what came back.

import { appOf, appView } from './apps.js';
import { emit, explain, mirrored, on, request, state } from './client.js';
import { compareEras } from './compare.js';
import { add, amount, attempt, copy, duration, el, fill, long, size } from './dom.js';
import { isObject, parse, stringify } from './exact.js';
import { makeForm } from './form.js';
import { idOf } from './lists.js';
import { inline, looksLike, markdown } from './markdown.js';
import { copyJson, errorView, modelText, showResult, tokens } from './result.js';
import { copies } from './snippets.js';
import { tree } from './tree.js';

const METHODS = { tools: 'tools/call', prompts: 'prompts/get', resources: 'resources/read', templates: 'resources/read', skills: 'resources/read' };
const VERBS = { tools: 'Call', prompts: 'Get', resources: 'Read', templates: 'Read', skills: 'Read' };
const MAX_KEPT = 50;
/** Definitions as they were left: with what was typed, with calls that go on, and with results. */
const kept = new Map();
let current;

/** Shows a definition. If it was shown before, it is as it was left; if it has changed since, its values stay. */
export function showDefinition(kind, item) {
  const place = document.getElementById('call');
  if (!kind) {
    current = undefined;
    return fill(place, el('p.about', null, 'The server has no tools, prompts or resources.'));
  }
  emit('definition');
  const id = `${kind} ${idOf(kind, item)}`;
  const before = kept.get(id);
  const same = before && stringify(before.item) === stringify(item) && before.era === state.era;
  if (same && before === current) return undefined;
  const shown = same ? before : makeDefinition(kind, item, before?.output ?? el('div.output', { 'aria-live': 'polite' }), before?.values());
  kept.delete(id);
  kept.set(id, shown);
  if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value);
  current = shown;
  return fill(place, shown.nodes);
}

/** Shows something else in the place of a definition. */
export function showOther(...nodes) {
  current = undefined;
  fill(document.getElementById('call'), nodes);
}

function schemaOf(kind, item) {
  if (kind === 'tools') return item.inputSchema;
  if (kind === 'prompts') {
    const list = Array.isArray(item.arguments) ? item.arguments.filter(isObject) : [];
    const properties = list.map(({ name, title, description }) => [name, { type: 'string', title, description }]);
    return { type: 'object', properties: Object.fromEntries(properties), required: list.filter((one) => one.required).map((one) => one.name) };
  }
  if (kind === 'templates') {
    const names = [...String(item.uriTemplate).matchAll(/\{[+#./;?&]?([^{}]*)\}/g)].flatMap(([, list]) => list.split(','));
    const properties = names.map((name) => [name.replace(/(\*|:\d+)$/, ''), { type: 'string' }]);
    return { type: 'object', properties: Object.fromEntries(properties), required: [] };
  }
  return { type: 'object', properties: {} };
}

/** Replaces the variables of a template (RFC 6570) by texts. */
export function expand(template, values) {
  const encode = (value, reserved) => (reserved ? encodeURI(value) : encodeURIComponent(value).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`));
  return template.replace(/\{([+#./;?&]?)([^{}]*)\}/g, (_, operator, list) => {
    const [first, separator, named] = { '': ['', ',', 0], '+': ['', ',', 0], '#': ['#', ',', 0], '.': ['.', '.', 0], '/': ['/', '/', 0], ';': [';', ';', 1], '?': ['?', '&', 1], '&': ['&', '&', 1] }[operator];
    const parts = [];
    for (const word of list.split(',')) {
      const [, name, length] = word.match(/^(.*?)(?:\*|:(\d+))?$/);
      if (values[name] === undefined || values[name] === '') continue;
      const text = encode(length ? [...values[name]].slice(0, Number(length)).join('') : values[name], operator === '+' || operator === '#');
      parts.push(named ? `${name}=${text}` : text);
    }
    return parts.length ? first + parts.join(separator) : '';
  });
}

function completer(kind, item, form) {
  if (kind !== 'prompts' && kind !== 'templates') return undefined;
  if (!state.eras[state.era].capabilities?.completions) return undefined;
  const ref = kind === 'prompts' ? { type: 'ref/prompt', name: item.name } : { type: 'ref/resource', uri: item.uriTemplate };
  return async (name, value) => {
    const { [name]: _, ...others } = form().get();
    const params = { ref, argument: { name, value } };
    if (Object.keys(others).length) params.context = { arguments: others };
    const values = (await request('completion/complete', params)).result?.completion?.values;
    return Array.isArray(values) ? values.map(String) : [];
  };
}

const HINTS = { readOnlyHint: ['read only', ''], destructiveHint: ['destructive', ''], idempotentHint: ['idempotent', ''], openWorldHint: ['open world', 'closed world'] };

function badges(item) {
  const shown = [];
  for (const [hint, [yes, no]] of Object.entries(HINTS)) {
    const text = item.annotations?.[hint] === true ? yes : item.annotations?.[hint] === false ? no : '';
    if (text) shown.push(el(hint === 'destructiveHint' ? 'span.badge.warn' : 'span.badge', null, text));
  }
  if (item.mimeType) shown.push(el('span.badge', null, item.mimeType));
  if (item.size !== undefined) shown.push(el('span.badge', null, size(Number(item.size))));
  return shown.length ? el('span.badges', null, shown) : null;
}

function makeDefinition(kind, item, output, initial) {
  const schema = schemaOf(kind, item);
  const form = makeForm(schema, { complete: completer(kind, item, () => form) });
  const json = el('textarea.code', { rows: 8, spellcheck: false, hidden: true, 'aria-label': 'arguments as JSON' });
  const asJson = el('button.quiet', { type: 'button', 'aria-pressed': 'false' }, 'JSON');
  const problem = el('p.problem', { hidden: true, role: 'alert' });
  const values = () => (json.hidden ? form.get() : parse(json.value || '{}'));
  const guarded = (run) => {
    try {
      problem.hidden = true;
      return run(values());
    } catch (error) {
      fill(problem, error.message);
      problem.hidden = false;
      return undefined;
    }
  };
  asJson.onclick = () => guarded((value) => {
    if (json.hidden) json.value = stringify(value, 2);
    else form.set(value);
    json.hidden = !json.hidden;
    form.node.hidden = !json.hidden;
    asJson.setAttribute('aria-pressed', String(!json.hidden));
    (json.hidden ? asJson : json).focus();
  });
  if (initial) form.set(initial);

  const params = (value) => {
    if (kind === 'resources' || kind === 'skills') return { uri: item.uri };
    if (kind === 'templates') return { uri: expand(String(item.uriTemplate), value) };
    return { name: item.name, arguments: value };
  };
  const headers = (value) => (kind === 'tools' ? mirrored(schema, value) : []);
  const method = METHODS[kind];

  const call = el('button.primary', { type: 'submit', title: 'Ctrl+Enter' }, VERBS[kind]);
  const compare = el('button', { type: 'button', title: 'the same call in both eras' }, 'Compare eras');
  const cancel = el('button.danger', { type: 'button', hidden: true }, 'Cancel');
  let running;
  const busy = (controller) => {
    running = controller;
    call.disabled = compare.disabled = Boolean(controller);
    const focused = [call, compare, cancel].includes(document.activeElement) || document.activeElement === document.body;
    cancel.hidden = !controller;
    if (focused) (controller ? cancel : call).focus();
  };
  cancel.onclick = () => running?.abort();
  const run = (make) => guarded(async (value) => {
    const controller = new AbortController();
    busy(controller);
    try {
      await make(value, controller.signal);
    } finally {
      busy(undefined);
    }
  });
  const options = { task: kind === 'tools' ? item.execution?.taskSupport : undefined, app: kind === 'tools' ? appOf(item) : undefined };
  compare.onclick = () => run((value, signal) => compareEras(output, { ...options, method, params: params(value), headers: headers(value), signal }));

  const node = el('form.definition', { noValidate: true, onsubmit: (event) => {
    event.preventDefault();
    if (!running) run((value, signal) => perform(output, { ...options, method, params: params(value), headers: headers(value), signal }));
  } },
  el('div.actions', null, call, cancel, compare, el('span.space'), !['resources', 'skills'].includes(kind) && asJson,
    copies(() => {
      const value = values();
      return { method, params: params(value), headers: headers(value), output };
    })));
  node.prepend(form.node, json, problem);
  node.onkeydown = (event) => {
    if (event.key !== 'Enter' || event.isComposing) return;
    const area = event.target.tagName === 'TEXTAREA';
    if (event.ctrlKey || event.metaKey || (area && !event.shiftKey && event.target.rows === 1)) {
      event.preventDefault();
      node.requestSubmit();
    }
  };

  const about = item.description ?? item.frontmatter?.description;
  const description = typeof about === 'string' ? about : '';
  const files = kind === 'skills' && Array.isArray(item.resources) ? item.resources.filter(isObject) : [];
  const read = (uri) => run((_, signal) => perform(output, { method, params: { uri }, signal }));
  const nodes = [
    el('header.definition-head', null,
      el('h2.definition-name', null, kind === 'resources' || kind === 'templates' ? idOf(kind, item) : item.name ?? item.frontmatter?.name ?? ''),
      item.title && el('span.definition-title', null, item.title), badges(item)),
    description && (looksLike(description) && description.length < 20_000 ? markdown(description) : el('p.lines', null, description)),
    findingsOf(kind, item),
    node,
    files.length > 0 && el('ul.files', null, files.map((file) => el('li', null,
      el('button.quiet', { type: 'button', onclick: () => !running && read(String(file.uri)) }, String(file.uri)), el('span.hint', null, size(Number(file.size)))))),
    output,
    el('details.source', null, el('summary', null, 'Definition'), tree(item, { open: 2 })),
  ];
  const finished = () => {
    try {
      return values();
    } catch {
      // What cannot be read is not carried over.
      return undefined;
    }
  };
  return { item, output, nodes, era: state.era, values: finished };
}

/** What `check` of the server says about a definition. */
function findingsOf(kind, item) {
  const place = el('ul.findings');
  const show = () => {
    const at = `${kind.replace(/s$/, '')} \`${idOf(kind, item)}\``;
    const found = (Array.isArray(state.findings) ? state.findings : []).filter((finding) => finding.at === at);
    fill(place, found.map(({ severity, text, source, line }) => el('li', null,
      el(severity === 'advice' ? 'span.badge' : 'span.badge.warn', null, severity), ' ', inline(String(text)), source && el('span.hint', null, ` (${source})`), line && el('code.line', null, ` ${line}`))));
  };
  show();
  place.refresh = show;
  return place;
}

/** Shows in a bar how far something is. A bar without a known end goes back and forth. */
export function fillBar(bar, progress, total) {
  if (!(Number(total) > 0)) return;
  bar.max = Number(total);
  bar.value = Number(progress) || 0;
}

/** A bar for the progress of a call, and the time that it takes. */
export function progressBar() {
  const bar = el('progress');
  const text = el('span.hint');
  const time = el('span.hint.time');
  const node = el('div.progress', { role: 'status' }, bar, text, time);
  const started = performance.now();
  const clock = setInterval(() => { time.textContent = duration(performance.now() - started); }, 100);
  return {
    node,
    stop: () => clearInterval(clock),
    report({ progress, total, message }) {
      fillBar(bar, progress, total);
      const far = total === undefined ? progress : `${progress} of ${total}`;
      // The text of a task contains what is known of its progress.
      const isTold = total !== undefined && String(message).includes(far);
      fill(text, [message, isTold ? undefined : far].filter((part) => part !== undefined).join(' · '));
    },
  };
}

/** Scrolls to a result whose beginning cannot be seen. */
export function show(output) {
  const { top } = output.getBoundingClientRect();
  if (top > innerHeight - 120 || top < 0) output.scrollIntoView({ block: 'start' });
}

async function perform(output, call) {
  const bar = progressBar();
  fill(output, bar.node);
  const outcome = await request(call.method, call.params, { ...call, progress: bar.report }).finally(bar.stop);
  const { app, params, era = state.era } = call;
  const view = app && outcome.result && !outcome.result.isError && appView(app, { era, args: params.arguments ?? {}, result: outcome.result });
  fill(output, outcomeView(call.method, outcome), view);
  remember(output, outcome);
  show(output);
}

/** Keeps what the model reads with the output: a test expects it. */
function remember(output, outcome) {
  delete output.dataset.text;
  if (!outcome.result) return;
  const text = modelText(outcome);
  if (text.length > 10_000) return;
  output.dataset.text = text;
  output.dataset.failed = outcome.result.isError ? 'yes' : 'no';
}

/** Shows how a call ended. */
export function outcomeView(method, outcome) {
  if (outcome.cancelled) return el('p.summary', null, el('span.badge', null, 'cancelled'));
  if (outcome.failed) return el('div', null, el('p.summary', null, el('span.badge.bad', null, 'no response')), el('p.problem.lines', null, explain(outcome)));
  const bad = outcome.error || outcome.result?.isError;
  const text = String(attempt(() => modelText(outcome)));
  const rounds = outcome.requests.length;
  const head = el('p.summary', null,
    el(bad ? 'span.badge.bad' : 'span.badge.good', null, outcome.error ? 'error' : bad ? 'tool error' : 'result'),
    el('span.hint.took', null, duration(outcome.ms)), rounds > 1 && el('span.hint', null, `${rounds} rounds`),
    el('span.hint', { title: 'the text that a model reads, at four characters per token' }, `≈ ${amount(tokens(text))} tokens`));
  const body = attempt(() => (outcome.error ? errorView(outcome.error) : showResult(method, outcome.result)));
  const whole = outcome.result ?? outcome.error;
  const lazy = (label, show) => {
    const details = el('details.source', null, el('summary', null, label));
    details.addEventListener('toggle', () => add(details, [show()]), { once: true });
    return details;
  };
  return el('div', null, head, body,
    lazy('As the model reads it', () => long(text)),
    lazy('JSON', () => [tree(whole), el('p.actions', null, copyJson(whole))]));
}

on('findings', () => document.querySelectorAll('.findings').forEach((place) => place.refresh?.()));
