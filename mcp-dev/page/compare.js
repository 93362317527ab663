// The same call in both eras, side by side: results, times, and every message, with the members that differ marked.

import { request, state } from './client.js';
import { outcomeView, progressBar, show } from './call.js';
import { duration, el, fill } from './dom.js';
import { stringify } from './exact.js';
import { ask, shareQuestions } from './questions.js';
import { same } from './tree.js';
import { messageView, title } from './wire.js';

const ERAS = ['legacy', 'modern'];

/** Makes a call in both eras at once, and shows both in `output`. A question of both is asked once. */
export async function compareEras(output, call) {
  const bars = ERAS.map(() => progressBar());
  fill(output, el('div.compare', null, ERAS.map((era, at) => el('div', null, heading(era), bars[at].node))));
  const shared = sharedAsk();
  shareQuestions(() => shared);
  const outcomes = await Promise.all(ERAS.map(async (era, at) => {
    const outcome = await request(call.method, call.params, { ...call, era, ask: shared, progress: bars[at].report });
    bars[at].stop();
    return outcome;
  }));
  shareQuestions(undefined);
  fill(output, summary(outcomes), el('div.compare', null, ERAS.map((era, at) => el('div', null, heading(era), outcomeView(call.method, outcomes[at])))), wires(outcomes));
  show(output);
}

function heading(era) {
  return el('h3.era', null, el(`span.dot.${era}`), state.eras[era].version ?? era);
}

/** Asks once what both eras ask: the second one gets the same answer. */
function sharedAsk() {
  const asked = new Map();
  return (question) => {
    const key = stringify([question.method, question.params?.message, question.params?.requestedSchema, question.params?.messages]);
    const before = asked.get(key)?.find((one) => one.era !== question.era && !one.used);
    if (before) {
      before.used = true;
      return before.answer;
    }
    const answer = ask(question);
    asked.set(key, [...(asked.get(key) ?? []), { era: question.era, answer, used: false }]);
    return answer;
  };
}

function summary(outcomes) {
  const [legacy, modern] = outcomes;
  if (!legacy.responses.length || !modern.responses.length) return el('p.summary', null, 'Only one era has a response.');
  const read = (outcome) => {
    const { resultType, _meta, ttlMs, cacheScope, ...rest } = outcome.result ?? { error: outcome.error };
    return rest;
  };
  const equal = same(read(legacy), read(modern));
  return el('p.summary', null,
    el(equal ? 'span.badge.good' : 'span.badge.bad', null, equal ? 'same result' : 'results differ'),
    el('span.hint', null, `${duration(legacy.ms)} and ${duration(modern.ms)}`));
}

/** The messages of a call: from its first request to its last response. */
function messagesOf(era, outcome) {
  const from = Math.min(...outcome.requests);
  const to = Math.max(...outcome.responses);
  return state.messages.filter((message) => message.era === era && message.seq >= from && message.seq <= to);
}

function wires(outcomes) {
  const sides = ERAS.map((era, at) => (outcomes[at].responses.length ? messagesOf(era, outcomes[at]) : []));
  const first = sides.map((messages) => messages[0]);
  const last = sides.map((messages) => (messages.length > 1 ? messages.at(-1) : undefined));
  const between = sides.map((messages) => messages.slice(1, -1));
  const rows = [el('h3', null, 'On the wire'), pair('Request', first)];
  if (between.some((messages) => messages.length)) {
    rows.push(el('div.compare', null, between.map((messages) => el('div', null, messages.map((message) => folded(message))))));
  }
  rows.push(pair('Response', last));
  return el('section.wires', null, rows);
}

function pair(label, [legacy, modern]) {
  const view = (message, other) => el('div', null, message
    ? [el('p.hint', null, label, ` ${title(message)}`), messageView(message, other?.json ? { other: alike(other.json, message.json) } : {})]
    : el('p.about', null, 'no message'));
  return el('div.compare', null, view(legacy, modern), view(modern, legacy));
}

/** A message with the ids of another one, because ids always differ. */
function alike(message, other) {
  const copy = { ...message };
  if (copy.id !== undefined && other?.id !== undefined) copy.id = other.id;
  const token = other?.params?._meta?.progressToken;
  if (token !== undefined && copy.params?._meta?.progressToken !== undefined) {
    copy.params = { ...copy.params, _meta: { ...copy.params._meta, progressToken: token } };
  }
  return copy;
}

function folded(message) {
  const details = el('details.wire', null, el('summary', null, el('span.arrow', null, message.sent ? '→' : '←'), el('span.what', null, title(message))));
  details.addEventListener('toggle', () => details.append(messageView(message)), { once: true });
  return details;
}
