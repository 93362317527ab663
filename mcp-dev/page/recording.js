// Recordings: making one, playing it to the present build, and the test that it becomes.

import { progressBar, showOther } from './call.js';
import { emit, on, state } from './client.js';
import { amount, copy, el, fill, long, size } from './dom.js';
import { ask } from './link.js';

const MAX_ROWS = 500;

/** Fills the head with the button, and keeps it as the recording is. */
export function startRecording() {
  const dot = el('span.dot');
  const label = el('span');
  const button = el('button.record', { type: 'button' }, dot, label);
  const file = el('button.quiet.recording-file', { type: 'button', hidden: true, title: 'replay it, or make it a test' });
  const problem = el('span.problem', { role: 'alert' });
  fill(document.getElementById('recording'), button, file, problem);
  let view;
  const show = () => {
    emit('definition');
    showOther(view ??= recordingView(state.recording));
    document.getElementById('main').scrollTop = 0;
  };
  file.onclick = show;
  let wanted = false;
  button.onclick = async () => {
    fill(problem);
    wanted = Boolean(state.recording?.runs);
    try {
      await ask('record', { on: !wanted });
    } catch (error) {
      fill(problem, error.message);
    }
  };
  on('recording', () => {
    const { runs, file: name } = state.recording ?? {};
    dot.className = runs ? 'dot running' : 'dot';
    fill(label, runs ? 'Stop' : 'Record');
    button.title = runs ? `what goes over the wire is written to ${name}` : 'write what goes over the wire to a file; the server is started anew';
    button.setAttribute('aria-pressed', String(Boolean(runs)));
    file.hidden = !name;
    file.disabled = Boolean(runs);
    fill(file, name);
    view = undefined;
    // The one that was stopped here is shown; another page is left alone.
    if (name && !runs && wanted) show();
    wanted = false;
  });
}

function recordingView({ file, messages, bytes, failure }) {
  const output = el('div.output', { 'aria-live': 'polite' });
  const play = el('button.primary', { type: 'button' }, 'Replay');
  const test = el('button', { type: 'button' }, 'Make it a test');
  const cancel = el('button.danger', { type: 'button', hidden: true }, 'Cancel');
  const run = async (button, make) => {
    const controller = new AbortController();
    const bar = progressBar();
    cancel.onclick = () => controller.abort();
    play.disabled = test.disabled = true;
    cancel.hidden = false;
    cancel.focus();
    fill(output, bar.node);
    try {
      fill(output, await make(controller.signal));
    } catch (error) {
      const cancelled = error.name === 'AbortError';
      fill(output, cancelled ? el('p.summary', null, el('span.badge', null, 'cancelled')) : el('p.problem.lines', null, error.message));
    } finally {
      bar.stop();
      play.disabled = test.disabled = false;
      const focused = document.activeElement === cancel || document.activeElement === document.body;
      cancel.hidden = true;
      if (focused) button.focus();
    }
  };
  play.onclick = () => run(play, async (signal) => reportView(JSON.parse(await ask('replay', {}, signal))));
  test.onclick = () => run(test, async (signal) => testView(await ask('recorded-test', {}, signal)));
  return [
    el('header.definition-head', null, el('h2.definition-name', null, file), el('span.definition-title', null, `${amount(messages)} messages, ${size(bytes)}`)),
    failure && el('p.problem', null, `This is not all: ${failure}.`),
    el('p.about', null, 'A replay makes the recorded calls again, with all that they do, to a second process of the present build, in both eras. Secrets are not in the file; look into it before you share it.'),
    el('div.definition', null, el('div.actions', null, play, test, cancel)),
    output,
  ];
}

function testView(text) {
  return el('div', null,
    el('p.about', null, 'For the tests of your project, with the feature ', el('code', null, 'testing'), ' of mcp-runtime. It makes each call in both eras.'),
    long(text), el('p.actions', null, copy('Copy', text)));
}

function reportView({ same, eras, warnings }) {
  const rows = eras.flatMap(({ era, calls }) => calls.flatMap(({ call, changes, more }) => [
    ...changes.map((change) => ({ era, call, ...change })),
    ...(more ? [{ era, call, place: `and ${amount(more)} more`, before: null, now: null }] : []),
  ]));
  return el('div.report', null,
    el('p.summary', null, el(same ? 'span.badge.good' : 'span.badge.bad', null, same ? 'no differences' : 'differences'),
      eras.map(({ era, failure, played, differing }) => el('span.hint', null, el(`span.dot.${era}`),
        failure ? ` ${era}: not played` : ` ${era}: ${amount(played)} played, ${amount(differing)} differ`))),
    warnings.map((warning) => el('p.problem', null, warning)),
    eras.map(({ era, failure, hidden, unfinished }) => [
      failure && el('p.about', null, `${era}: ${failure}`),
      hidden.length > 0 && el('p.about', null, `${era}: not played, because a secret in it is hidden: ${hidden.slice(0, 5).join('; ')}${hidden.length > 5 ? ' …' : ''}`),
      unfinished > 0 && el('p.about', null, `${era}: ${amount(unfinished)} not played, because the recording has no response`),
    ]),
    rows.length > 0 && el('div.scroll', null, table(rows.slice(0, MAX_ROWS))),
    rows.length > MAX_ROWS && el('p.about', null, `The first ${amount(MAX_ROWS)} differences are shown.`));
}

const COLUMNS = [['era', 'Era'], ['call', 'Call'], ['place', 'Place'], ['before', 'Recorded'], ['now', 'Now']];

function table(rows) {
  return el('table.differences', null,
    el('caption', null, 'What clients would see differently'),
    el('thead', null, el('tr', null, COLUMNS.map(([, label]) => el('th', { scope: 'col' }, label)))),
    el('tbody', null, rows.map((row) => el('tr', null, COLUMNS.map(([name, label]) => el('td', { data: { label } }, cell(name, row)))))));
}

function cell(name, row) {
  if (name === 'era') return [el(`span.dot.${row.era}`), ' ', row.era];
  if (name === 'call') return el('code', null, row.call);
  if (name === 'place') return el('code', null, row.place || 'the response');
  return row[name] === null ? el('span.hint', null, '—') : el('code', null, row[name]);
}
