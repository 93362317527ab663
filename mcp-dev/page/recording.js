// Recordings: making one, playing it to the present build, and the test that it becomes.

import { progressBar, showOther } from './call.js';
import { emit, on, state } from './client.js';
import { amount, copy, el, fill, long, size } from './dom.js';
import { stringify } from './exact.js';
import { ask } from './link.js';

/** Fills the head with the button, and keeps it as the recording is. */
export function startRecording() {
  const dot = el('span.dot');
  const label = el('span');
  const button = el('button.record', { type: 'button' }, dot, label);
  const file = el('button.quiet.recording-file', { type: 'button', hidden: true, title: 'replay it, or turn it into a test' });
  const problem = el('span.problem', { role: 'alert' });
  fill(document.getElementById('recording'), button, file, problem);
  let view;
  let seen;
  const show = () => {
    emit('definition');
    emit('elsewhere');
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
    button.title = runs ? `messages are being written to ${name}` : 'write all messages to a file; the server is restarted';
    button.setAttribute('aria-pressed', String(Boolean(runs)));
    file.hidden = !name;
    file.disabled = Boolean(runs);
    fill(file, name);
    const known = stringify(state.recording);
    if (known !== seen) view = undefined;
    seen = known;
    // The one that was stopped here is shown; another page is left alone.
    if (name && !runs && wanted) show();
    wanted = false;
  });
}

function recordingView({ file, messages, bytes, failure }) {
  const output = el('div.output', { 'aria-live': 'polite' });
  const play = el('button.primary', { type: 'button' }, 'Replay');
  const test = el('button', { type: 'button' }, 'Turn it into a test');
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
    failure && el('p.problem', null, `The recording is incomplete: ${failure}.`),
    el('p.about', null, 'A replay repeats the recorded calls, with all their effects, in both eras and against a second process of the current build. Known secrets are hidden in the file, but check it before you share it.'),
    el('div.definition', null, el('div.actions', null, play, test, cancel)),
    output,
  ];
}

function testView(text) {
  return el('div', null,
    el('p.about', null, 'For your project\'s tests, with the ', el('code', null, 'testing'), ' feature of mcp-runtime. It makes each call in both eras.'),
    long(text), el('p.actions', null, copy('Copy', text)));
}

function reportView({ same, eras, warnings }) {
  const hidden = [...new Set(eras.flatMap((era) => era.hidden))];
  const calls = eras.flatMap(({ era, calls }) => calls.map((call) => ({ era, ...call })));
  const unlisted = eras.reduce((sum, { differing, calls }) => sum + differing - calls.length, 0);
  return el('div.report', null,
    el('p.summary', null, el(same ? 'span.badge.good' : 'span.badge.bad', null, same ? 'no differences' : 'differences'),
      eras.map(({ era, failure, played, differing }) => el('span.hint', null, el(`span.dot.${era}`),
        failure ? ` ${era}: not played` : ` ${era}: ${amount(played)} played, ${amount(differing)} differ`))),
    warnings.map((warning) => el('p.problem', null, warning)),
    // Both eras miss the same secrets.
    hidden.length > 0 && el('p.about', null, 'Not played, because it contains a hidden secret: ', hidden.slice(0, 5).map((call, at) => [at > 0 && ', ', el('code', null, call)]), hidden.length > 5 && ' …'),
    eras.map(({ era, failure, unfinished }) => [
      failure && el('p.about', null, `${era}: ${failure}`),
      unfinished > 0 && el('p.about', null, `${era}: ${amount(unfinished)} not played, because the recording has no response`),
    ]),
    calls.length > 0 && el('div.scroll', null, table(calls)),
    unlisted > 0 && el('p.about', null, `${amount(unlisted)} more calls differ.`));
}

const COLUMNS = [['place', 'Place'], ['before', 'Recorded'], ['now', 'Now']];

/** All differences, in a group of rows for each call. */
function table(calls) {
  return el('table.differences', null,
    el('caption', null, 'What clients would see differently'),
    el('thead', null, el('tr', null, COLUMNS.map(([, label]) => el('th', { scope: 'col' }, label)))),
    calls.map(({ era, call, changes, more }) => el('tbody', null,
      el('tr', null, el('th.differing', { scope: 'rowgroup', colspan: COLUMNS.length }, el(`span.dot.${era}`), ' ', el('span', null, era), ' ', el('code', null, call))),
      changes.map((change) => el('tr', null, COLUMNS.map(([name, label]) => el('td', { data: { label } }, cell(name, change))))),
      more > 0 && el('tr', null, el('td.hint', { colspan: COLUMNS.length }, `and ${amount(more)} more`)))));
}

function cell(name, change) {
  // A line may break before each step.
  if (name === 'place') return el('code', null, (change.place || 'the response').split(/(?=\/)/).map((step) => [el('wbr'), step]));
  return change[name] === null ? el('span.hint', null, '—') : el('code', null, change[name]);
}
