// Tasks: calls that go on after their request. Each is followed until it ends, and all of this page are listed.

import { fillBar, outcomeView, showOther } from './call.js';
import { emit, explain, followTasks, on, request } from './client.js';
import { el, fill } from './dom.js';
import { isObject } from './exact.js';

const ENDED = ['completed', 'failed', 'cancelled'];
const MAX_TASKS = 50;
/** Milliseconds between two polls, whatever the server wants. */
const [SOONEST, LATEST] = [50, 10_000];

const tasks = [];

/** Follows tasks from now on, and lists them. */
export function startTasks() {
  followTasks(follow);
  const count = el('span.hint');
  const list = el('ul');
  const section = el('section', { hidden: true }, el('h2', null, 'Tasks', count), list);
  document.getElementById('tasks').append(section);
  let shown;
  const choose = (task) => {
    shown = task;
    for (const { button } of tasks) button.setAttribute('aria-current', String(task !== undefined && button === task.button));
  };
  on('task', (task) => {
    if (!task.views) {
      task.views = [row(task, () => { emit('elsewhere'); choose(task); showOther(task.page); }), page(task)];
      tasks.unshift(task);
      list.prepend(el('li', null, task.button));
      for (const old of tasks.splice(MAX_TASKS)) old.button.parentElement.remove();
      fill(count, ` ${tasks.length}`);
      section.hidden = false;
    }
    // Elements stay, so that a click or the focus does not miss one that was just replaced.
    for (const update of task.views) update();
  });
  on('definition', () => { if (shown) choose(undefined); });
}

/** The entry of a task in the list. Returns the function that brings it up to date. */
function row(task, choose) {
  const about = el('span');
  task.button = el('button.item', { type: 'button', 'aria-current': 'false', data: { task: task.id }, onclick: choose },
    el('span.item-name', null, task.name), el('span.item-title', null, el(`span.dot.${task.era}`), ' ', about));
  return () => fill(about, [task.status, task.message].filter(Boolean).join(': '));
}

/** What is shown of a task that is chosen. */
function page(task) {
  const status = el('span.badge');
  const message = el('p.lines');
  const bar = el('progress', { hidden: true });
  const cancel = el('p.actions', null, el('button.danger', { type: 'button', onclick: () => task.cancel() }, 'Cancel task'));
  const output = el('div.output');
  task.page = el('div.blocks', null,
    el('header.definition-head', null, el('h2.definition-name', null, task.name), status),
    el('p.about', null, 'Task ', el('code', null, task.id), task.createdAt ? `, created ${task.createdAt}` : ''), message, bar, cancel, output);
  return () => {
    status.className = `badge ${{ completed: 'good', failed: 'bad', working: 'busy' }[task.status] ?? ''}`;
    fill(status, task.status);
    fill(message, task.message);
    message.hidden = !task.message;
    fillBar(bar, task.far?.progress, task.far?.total);
    bar.hidden = !task.far || Boolean(task.outcome);
    cancel.hidden = Boolean(task.outcome);
    if (task.outcome && !output.childElementCount) fill(output, outcomeView('tools/call', task.outcome));
  };
}

/** How far a task is, if its status message says so: as `3 of 10`. Tasks have no other place for it. */
function progressIn(message) {
  const [, progress, total] = /(?<![\d.])(\d{1,15}(?:\.\d{1,15})?) of (\d{1,15}(?:\.\d{1,15})?)(?![\d.]*\d)/.exec(message) ?? [];
  return Number(total) > 0 && Number(progress) <= Number(total) ? { progress, total } : undefined;
}

const text = (value) => (typeof value === 'string' ? value : '');

/** Follows a task to its end, and returns the outcome of its call. */
async function follow(created, { era, name, signal, progress, ask }) {
  const stop = new AbortController();
  const task = { era, name: String(name ?? 'a task'), id: String(created.taskId), cancel: () => stop.abort() };
  const forward = () => stop.abort();
  signal?.addEventListener('abort', forward);
  if (signal?.aborted) forward();
  stop.signal.addEventListener('abort', () => request('tasks/cancel', { taskId: task.id }, { era }));
  const report = (known) => {
    Object.assign(task, { status: text(known.status) || 'without a status', message: text(known.statusMessage), createdAt: text(known.createdAt), poll: Number(known.pollIntervalMs ?? known.pollInterval) });
    task.far = progressIn(task.message);
    progress?.({ message: [`task ${task.status}`, task.message].filter(Boolean).join(': '), ...task.far });
    emit('task', task);
  };
  report(created);
  const from = performance.now();
  const run = { task, stop: stop.signal, report, ask, waited: 0 };
  const outcome = await (era === 'modern' ? followModern(run, created) : followLegacy(run));
  signal?.removeEventListener('abort', forward);
  const ms = Math.max(0, performance.now() - from - run.waited);
  task.outcome = { ms, requests: [], responses: [], ...outcome };
  if (!ENDED.includes(task.status)) task.status = outcome.cancelled ? 'cancelled' : outcome.result ? 'completed' : 'failed';
  task.message = '';
  emit('task', task);
  return { ...outcome, ms };
}

/** Polls, and answers the questions that a poll brings. */
async function followModern(run, created) {
  const { task, stop, report } = run;
  const asked = new Set();
  for (let known = created; ; ) {
    if (ENDED.includes(known.status)) return ended(known);
    if (known.status === 'input_required' && !stop.aborted) {
      const refused = await answer(run, known, asked);
      if (refused) return refused;
    }
    await pause(task.poll, stop);
    const outcome = await request('tasks/get', { taskId: task.id }, { era: 'modern' });
    if (!isObject(outcome.result)) return { failed: `the task cannot be fetched: ${explain(outcome)}` };
    known = outcome.result;
    report(known);
  }
}

function ended(known) {
  if (known.status === 'cancelled') return { cancelled: true };
  if (known.status === 'completed') return { result: known.result };
  return known.error === undefined ? { failed: text(known.statusMessage) || 'the task failed' } : { error: known.error };
}

async function answer(run, { inputRequests }, asked) {
  const { task, stop } = run;
  for (const [key, question] of Object.entries(inputRequests ?? {})) {
    if (asked.has(key) || stop.aborted) continue;
    asked.add(key);
    const from = performance.now();
    const response = await run.ask({ era: task.era, method: question?.method, params: question?.params ?? {}, signal: stop });
    run.waited += performance.now() - from;
    if (stop.aborted) return undefined;
    if (response === null) {
      task.cancel();
      return { failed: `you did not answer ${question?.method}, so the task was cancelled` };
    }
    await request('tasks/update', { taskId: task.id, inputResponses: { [key]: response } }, { era: task.era });
  }
  return undefined;
}

/** Waits for the result, during which the server may ask, and polls for what is shown meanwhile. */
async function followLegacy({ task, stop, report }) {
  const over = new AbortController();
  const result = request('tasks/result', { taskId: task.id }, { era: 'legacy' }).finally(() => over.abort());
  for (;;) {
    await pause(task.poll, over.signal);
    if (over.signal.aborted) break;
    const { result: known } = await request('tasks/get', { taskId: task.id }, { era: 'legacy' });
    if (isObject(known) && !over.signal.aborted) report(known);
  }
  const outcome = await result;
  if (stop.aborted && !outcome.result) return { cancelled: true };
  return outcome.result ? { result: outcome.result } : outcome.error ? { error: outcome.error } : { failed: explain(outcome) };
}

function pause(ms, signal) {
  const wait = Math.min(Math.max(ms || 1_000, SOONEST), LATEST);
  return new Promise((resume) => {
    const timer = setTimeout(resume, wait);
    if (signal.aborted) return;
    signal.addEventListener('abort', () => { clearTimeout(timer); resume(); }, { once: true });
  });
}
