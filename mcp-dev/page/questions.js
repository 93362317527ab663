// Questions of the server to its client, as forms: elicitation, sampling, roots.

import { answerQuestion, answerWith, on, waited } from './client.js';
import { copy, el, long } from './dom.js';
import { isObject, stringify } from './exact.js';
import { makeForm, rawField } from './form.js';
import { messageList } from './result.js';
import { tree } from './tree.js';

/** What ends each open question, by the number of its message. */
const open = new Map();

/** Shows questions as they come, and answers them. */
export function startQuestions() {
  answerWith(ask);
  on('question', async (question) => {
    // A page that was away is told what it asks already.
    if (open.has(question.seq)) return;
    const closing = new AbortController();
    open.set(question.seq, closing);
    const asked = share(question) ?? ask;
    const from = performance.now();
    const result = await asked({ ...question, signal: closing.signal });
    waited[question.era] += performance.now() - from;
    if (open.get(question.seq) === closing) open.delete(question.seq);
    if (!closing.signal.aborted) answerQuestion(question, result).catch(console.warn);
  });
  const close = (seq) => {
    open.get(seq)?.abort();
    open.delete(seq);
  };
  on('settled', close);
  on('reset', ({ questions }) => {
    for (const seq of [...open.keys()]) if (!questions.some((one) => one.seq === seq)) close(seq);
  });
}

let share = () => undefined;

/** While eras are compared, `share` returns the function that answers a question of both eras once. */
export const shareQuestions = (with_) => { share = with_ ?? (() => undefined); };

/** Asks the user. Returns the result of the question's method, or null if the user refuses. */
export function ask({ era, method, params, signal }) {
  return new Promise((resolve) => {
    const card = el('form.question', { noValidate: true, 'aria-label': 'a question from the server' });
    const settle = (result) => {
      card.remove();
      signal?.removeEventListener('abort', stop);
      resolve(result);
    };
    const stop = () => settle(null);
    if (signal?.aborted) return resolve(null);
    signal?.addEventListener('abort', stop);
    const form = isObject(params) ? params : {};
    const kind = { 'elicitation/create': elicitation, 'sampling/createMessage': sampling, 'roots/list': roots }[method] ?? unknown;
    const problem = el('p.problem', { hidden: true, role: 'alert' });
    const { body, buttons } = kind(form, settle);
    const [first, ...others] = buttons;
    card.append(
      el('p.asks', null, el(`span.dot.${era}`), `The server asks (${method})`), ...body, problem,
      el('div.actions', null,
        el('button.primary', { type: 'submit' }, first.label),
        others.map(({ label, run }) => el('button', { type: 'button', onclick: run }, label))));
    card.onsubmit = (event) => {
      event.preventDefault();
      try {
        first.run();
      } catch (error) {
        problem.textContent = '';
        problem.append(error.message);
        problem.hidden = false;
      }
    };
    document.getElementById('questions').append(card);
    card.scrollIntoView({ block: 'nearest' });
    card.querySelector('input, textarea, select, button')?.focus();
  });
}

function elicitation(params, settle) {
  const message = el('p.lines.asked', null, String(params.message ?? ''));
  const refuse = [
    { label: 'Decline', run: () => settle({ action: 'decline' }) },
    { label: 'Dismiss', run: () => settle({ action: 'cancel' }) },
  ];
  if (params.mode === 'url') {
    const url = String(params.url ?? '');
    return {
      body: [message, el('p', null, 'It wants you to open:'), el('p', null, el('code', null, url), ' ', copy('Copy', url))],
      buttons: [{ label: 'Accept', run: () => settle({ action: 'accept' }) }, ...refuse],
    };
  }
  const form = makeForm(params.requestedSchema, { headless: true });
  return {
    body: [message, form.node],
    buttons: [{ label: 'Accept', run: () => settle({ action: 'accept', content: form.get() }) }, ...refuse],
  };
}

function sampling(params, settle) {
  const text = el('textarea', { rows: 3, 'aria-label': 'the model\'s text' });
  const model = el('input', { type: 'text', value: 'by hand', 'aria-label': 'the model\'s name' });
  const { messages, systemPrompt, ...rest } = params;
  return {
    body: [
      systemPrompt && el('div', null, el('span.role', null, 'system'), long(String(systemPrompt))),
      Array.isArray(messages) && messageList(messages), el('details', null, el('summary', null, 'more'), tree(rest)),
      el('label.label', null, 'Answer as the model'), text, el('label.label', null, 'Model'), model,
    ].filter((part) => part instanceof Node),
    buttons: [
      { label: 'Answer', run: () => settle({ role: 'assistant', content: { type: 'text', text: text.value }, model: model.value, stopReason: 'endTurn' }) },
      { label: 'Refuse', run: () => settle(null) },
    ],
  };
}

let lastRoots = '';

function roots(params, settle) {
  const text = el('textarea', { rows: 2, placeholder: 'file:///home/you/project', value: lastRoots, 'aria-label': 'root URIs, one per line' });
  return {
    body: [el('p.about', null, 'Roots: one file URI per line.'), text],
    buttons: [
      { label: 'Answer', run: () => {
        lastRoots = text.value;
        settle({ roots: text.value.split('\n').map((line) => line.trim()).filter(Boolean).map((uri) => ({ uri })) });
      } },
      { label: 'Refuse', run: () => settle(null) },
    ],
  };
}

function unknown(params, settle) {
  const field = rawField({}, { required: true, initial: {} });
  return {
    body: [tree(params), el('p.about', null, `The result, as JSON. ${stringify(params).length} characters were sent.`), field.node],
    buttons: [{ label: 'Answer', run: () => settle(field.get()) }, { label: 'Refuse', run: () => settle(null) }],
  };
}
