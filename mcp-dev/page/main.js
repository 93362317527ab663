// Starts the page: the head with the server, its eras and the build, and all other parts.

import { showDefinition } from './call.js';
import { chooseEra, handle, on, state } from './client.js';
import { duration, el, fill, plain } from './dom.js';
import { stringify } from './exact.js';
import { act, follow } from './link.js';
import { startLists } from './lists.js';
import { startQuestions } from './questions.js';
import { startRecording } from './recording.js';
import { startTasks } from './tasks.js';
import { startWire } from './wire.js';

const ERAS = [['legacy', '2025-11-25'], ['modern', '2026-07-28']];
const place = (id) => document.getElementById(id);

function showServer() {
  const status = state.eras[state.era];
  const name = status.server?.title ?? status.server?.name;
  fill(place('server'), el('h1', null, String(name ?? state.name)), status.server?.version && el('span.hint', null, String(status.server.version)),
    name !== undefined && name !== state.name && el('span.target', { title: state.name }, state.name));
  document.title = plain(`${name ?? state.name} · mcp-dev`);
}

function showEras() {
  fill(place('eras'), ERAS.map(([era, date]) => {
    const status = state.eras[era];
    const about = { refused: `not supported: ${status.reason}`, closed: status.reason, connecting: 'connecting', unknown: 'not connected yet', ready: 'connected' }[status.state];
    return el('button.era-choice', { type: 'button', 'aria-pressed': String(state.era === era), title: about, onclick: () => chooseEra(era) },
      el(`span.dot.${era}.${status.state}`), el('span', null, status.version ?? date), el('span.hint', null, era));
  }));
  showFailure();
}

/** The reason that there is nothing to show: a build error, or a server that ended or refuses. */
function showFailure() {
  const box = place('failure');
  const { build, eras, era } = state;
  const status = eras[era];
  if (build?.state === 'failed') {
    fill(box, el('h2', null, 'The build failed'), el('p.about', null, 'This page updates when the build succeeds. Until then, the last successful build keeps answering, if there is one.'), el('pre.text', null, build.text));
  } else if (['refused', 'closed'].includes(status.state) && build?.state !== 'building') {
    const again = el('button', { type: 'button', onclick: () => act('reconnect', stringify({ era })) }, 'Connect again');
    fill(box, el('h2', null, status.state === 'refused' ? 'No connection' : 'The server has ended'), el('p.problem.lines', null, String(status.reason)), el('p.actions', null, again),
      el('p.about', null, 'Its standard error is in the log.'));
  } else fill(box);
  box.hidden = !box.childElementCount;
}

function showBuild() {
  const { build } = state;
  const text = {
    building: 'building…', failed: 'build failed', unwatched: build?.text,
    built: build && `built in ${duration(build.seconds * 1e3)}`,
  }[build?.state];
  fill(place('build'), text && el(`span.badge.${build.state === 'failed' ? 'bad' : build.state === 'building' ? 'busy' : 'good'}`, null, text));
  if (build?.state === 'built' && build.text) {
    place('build').append(el('details.warnings', null, el('summary', null, 'warnings'), el('pre.text', null, build.text)));
  }
  showFailure();
}

function showLink(link) {
  const notice = place('notice');
  const text = { lost: 'Lost the connection to mcp-dev. Retrying…', refused: 'Open the URL that mcp-dev printed; it contains this run\'s token.' }[link];
  fill(notice, text);
  notice.hidden = !text;
}

on('era', () => { showServer(); showEras(); });
on('reset', () => { showServer(); showEras(); });
on('build', showBuild);
startWire();
startQuestions();
startTasks();
startRecording();
startLists(showDefinition);
follow(handle, showLink);
