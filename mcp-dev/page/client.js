// What a client knows and does: the state of both eras, requests with their rounds, progress, lists.

import { isObject, parse, stringify } from './exact.js';
import { act, messageText } from './link.js';

const META = 'io.modelcontextprotocol';

/** Everything that parts of the page show. They listen for the names of changes. */
export const state = {
  name: '', project: false, build: null, era: 'modern', chosen: false, logLevel: 'info',
  eras: { modern: { state: 'unknown' }, legacy: { state: 'unknown' } },
  messages: [], appPort: 0,
};
const listeners = new Map();

export function on(name, listener) {
  listeners.set(name, [...(listeners.get(name) ?? []), listener]);
}
/** Tells all listeners. One that cannot show what a server sent does not keep the others from it. */
export function emit(name, detail) {
  for (const listener of listeners.get(name) ?? []) {
    try { listener(detail); } catch (error) { console.error(error); }
  }
}

/** Milliseconds in which requests of the server waited for the user: they are not those of a call. */
export const waited = { modern: 0, legacy: 0 };

const MAX_MESSAGES = 1_000;
/** Longest question, in characters, that is shown. */
const MAX_QUESTION = 1 << 20;
const running = new Map();
let openQuestion = async () => ({ action: 'cancel' });

/** Sets the function that asks the user: it takes a question and returns the result, or null if the user refuses. */
export const answerWith = (ask) => { openQuestion = ask; };

let followTask = async () => ({ failed: 'the server turned it into a task' });

/** Sets the function that follows a task: it takes what the server answered and returns the outcome of the call. */
export const followTasks = (follow) => { followTask = follow; };

/** Takes an event of mcp-dev. */
export function handle(event) {
  switch (event.type) {
    case 'snapshot': return restore(event);
    case 'message': return receive(event);
    case 'era': return setEra(event.era, event.status);
    case 'build': state.build = event; return emit('build');
    case 'finished': running.get(event.key)?.finish(event.outcome); return;
    case 'question': return emit('question', event);
    case 'findings': state.findings = event.findings; return emit('findings');
    case 'recording': state.recording = event.recording; return emit('recording');
    case 'settled': return emit('settled', event.seq);
    case 'line': return emit('line', event);
    case 'flood': return emit('flood', event.skipped);
  }
}

function restore(snapshot) {
  Object.assign(state, { name: snapshot.name, project: snapshot.project, build: snapshot.build, appPort: snapshot.appPort, findings: snapshot.findings, recording: snapshot.recording, messages: [] });
  emit('reset', snapshot);
  for (const message of snapshot.messages) receive(message, true);
  snapshot.lines.forEach((line) => emit('line', line));
  emit('build');
  emit('recording');
  for (const { era, status } of snapshot.eras) setEra(era, status);
  snapshot.questions.forEach((question) => emit('question', question));
  emit('flood', snapshot.skipped);
  // Calls that ended while this page was away.
  for (const { key, outcome } of snapshot.finished) running.get(key)?.finish(outcome);
}

function setEra(era, status) {
  const before = state.eras[era].state;
  const shown = state.era;
  state.eras[era] = status;
  // The modern era is shown, unless the server refuses it or the user has chosen.
  if (!state.chosen) {
    const { modern, legacy } = state.eras;
    if (modern.state === 'ready') state.era = 'modern';
    else if (modern.state === 'refused' && legacy.state === 'ready') state.era = 'legacy';
  }
  emit('era', era);
  if (state.era !== shown && era !== state.era) emit('ready', state.era);
  else if (status.state === 'ready' && (before !== 'ready' || era === state.era)) emit('ready', era);
}

export function chooseEra(era) {
  Object.assign(state, { era, chosen: true });
  emit('era', era);
  if (state.eras[era].state === 'ready') emit('ready', era);
  else act('reconnect', stringify({ era }));
}

function receive(message, old) {
  try {
    message.json = message.text === null || message.notes?.stray ? null : parse(message.text);
  } catch {
    message.json = null;
  }
  state.messages.push(message);
  if (state.messages.length > MAX_MESSAGES) state.messages.splice(0, state.messages.length - MAX_MESSAGES);
  emit('message', message);
  if (message.sent || old) return;
  const { method, params } = message.json ?? {};
  if (method === 'notifications/progress') running.get(params?.progressToken)?.progress?.(params);
  if (/^notifications\/(tools|prompts|resources)\/list_changed$/.test(method)) emit('list-changed', message.era);
}

/**
 * Sends a request, answers the questions of its rounds, and follows the task that it becomes. `task`: what the tool says
 * about tasks.
 *
 * Returns `{result | error | failed | cancelled, ms, requests, responses}`: the numbers of its messages, and the time
 * without that of the user.
 */
export async function request(method, params, options = {}) {
  const { era = state.era, headers = [], progress, signal, ask = openQuestion, task } = options;
  const wantsTask = era === 'legacy' && ['optional', 'required'].includes(task) && state.eras.legacy.capabilities?.tasks?.requests?.tools?.call;
  if (wantsTask) params = { ...params, task: {} };
  const total = { ms: 0, requests: [], responses: [] };
  for (let rounds = 0; rounds < 50; rounds += 1) {
    const before = waited[era];
    const outcome = await round(method, params, { era, headers, progress, signal });
    if (!outcome.response) return { ...total, ...outcome };
    total.ms += Math.max(0, outcome.ms - (waited[era] - before));
    total.requests.push(outcome.request);
    total.responses.push(outcome.response);
    let message;
    try {
      message = await messageOf(outcome.response);
    } catch (error) {
      return { ...total, failed: error.message };
    }
    if (message.error !== undefined) return { ...total, error: message.error };
    const { result } = message;
    const created = era === 'modern' ? result?.resultType === 'task' && result : wantsTask && result?.task;
    if (isObject(created)) {
      const outcome = await followTask(created, { era, name: params.name, signal, progress, ask });
      return { ...total, ...outcome, ms: total.ms + outcome.ms };
    }
    if (!isObject(result) || result.resultType !== 'input_required') return { ...total, result };
    const inputResponses = {};
    for (const [key, asked] of Object.entries(result.inputRequests ?? {})) {
      if (stringify(asked).length > MAX_QUESTION) return { ...total, failed: `a question is larger than ${MAX_QUESTION >> 20} MiB` };
      const answer = await ask({ era, method: asked.method, params: asked.params ?? {}, signal });
      if (signal?.aborted) return { ...total, cancelled: true };
      if (answer === null) return { ...total, failed: `you did not answer ${asked.method}, so the call was not continued` };
      inputResponses[key] = answer;
    }
    params = { ...params, inputResponses };
    if (result.requestState !== undefined) params.requestState = result.requestState;
    else delete params.requestState;
  }
  return { ...total, failed: 'gave up after 50 rounds of questions' };
}

async function messageOf(seq) {
  return state.messages.find((message) => message.seq === seq)?.json ?? parse(await messageText(seq));
}

function round(method, params, { era, headers, progress, signal }) {
  const key = crypto.randomUUID();
  const meta = { ...params?._meta };
  if (progress) meta.progressToken = key;
  if (era === 'modern' && state.logLevel !== 'off') meta[`${META}/logLevel`] = state.logLevel;
  const sent = { ...params };
  if (Object.keys(meta).length) sent._meta = meta;
  return new Promise((resolve) => {
    const stop = () => act('cancel', stringify({ key }));
    const finish = (outcome) => {
      running.delete(key);
      signal?.removeEventListener('abort', stop);
      resolve(outcome);
    };
    if (signal?.aborted) return finish({ cancelled: true });
    signal?.addEventListener('abort', stop);
    running.set(key, { finish, progress });
    act('call', stringify({ key, era, method, params: sent, headers })).catch((error) => finish({ failed: error.message }));
  });
}

/** Answers a question that came as a request. `null`: the user refuses. */
export const answerQuestion = (question, result) => {
  const answer = result === null ? { error: { code: -1, message: 'The user did not answer' } } : { result };
  return act('answer', stringify({ era: question.era, seq: question.seq, answer }));
};

const MAX_PAGES = 50;

/** Returns all pages of a list, or the reason that there are none. `progress` is told what is known after each page but the last. */
export async function list(kind, member, era = state.era, progress = () => {}) {
  const items = [];
  let cursor;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const outcome = await request(`${kind}/list`, cursor === undefined ? {} : { cursor }, { era });
    if (!outcome.result) return { items, problem: explain(outcome) };
    const found = outcome.result[member];
    if (Array.isArray(found)) items.push(...found.filter(isObject));
    cursor = outcome.result.nextCursor;
    if (cursor === undefined || cursor === null) return { items };
    progress(items);
  }
  return { items, problem: `the list has more than ${MAX_PAGES} pages` };
}

/** Returns the reason of an outcome without a result. */
export function explain(outcome) {
  if (outcome.failed) return outcome.failed;
  if (outcome.cancelled) return 'cancelled';
  return outcome.error ? `${outcome.error.message ?? 'an error without a message'} (${outcome.error.code})` : '';
}

/** Returns the headers that mirror arguments of a tool. */
export function mirrored(schema, values) {
  const headers = [];
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    const header = property?.['x-mcp-header'];
    const value = values?.[name];
    if (typeof header === 'string' && value !== undefined && value !== null) headers.push([`Mcp-Param-${header}`, String(value?.rawJSON ?? value)]);
    if (isObject(property?.properties) && isObject(value)) headers.push(...mirrored(property, value));
  }
  return headers;
}
