// Drives tools that run as tasks through the client in the extension's own package (`ext-tasks`), in both protocol
// versions that have tasks.
//
// Usage: tasks.mjs DIRECTORY_OF_THE_PROGRAMS. Prints one line per check and `N passed, N failed` at the end.

import assert from 'node:assert/strict';
import { join } from 'node:path';

import { createTaskSessionFromClient, toolDeclarationFromMcpTool } from '@modelcontextprotocol/ext-tasks/client';

import { MODERN, TRANSPORTS, connect2 } from './clients.mjs';
import { PATIENCE, reach } from './reach.mjs';
import { end, say } from './report.mjs';

const program = join(process.argv[2], 'conformance');
const CORE = '2025-11-25';
// Accepts every result.
const all = { '~standard': { version: 1, vendor: 'interop', validate: (value) => ({ value }) } };
const capabilities = { elicitation: { form: {} } };

// The package sends the extension's requests past the official client, which refuses results that it does not know.
function rawDispatch(transport) {
  const waiting = new Map();
  const receive = transport.onmessage;
  transport.onmessage = (message, ...rest) => {
    const settle = message.method === undefined && waiting.get(message.id);
    if (!settle) return receive(message, ...rest);
    waiting.delete(message.id);
    settle(message.error ? { kind: 'error', error: message.error } : { kind: 'result', result: message.result });
  };
  let sent = 0;
  return async (request) => {
    const id = `task-request-${(sent += 1)}`;
    const response = new Promise((resolve) => waiting.set(id, resolve));
    await transport.send({ jsonrpc: '2.0', id, ...request });
    return response;
  };
}

// A package session over a connected client. `asked` holds the questions it was asked, and `answer` answers them.
async function connect(make, Kind, revision, negotiation) {
  let transport;
  const keep = (Kind) => (transport = make(Kind));
  const person = { capabilities, serve() {} };
  const { client } = await connect2(keep, Kind, revision, person, negotiation);
  const { tools } = await client.listTools();
  const session = { client, revision, asked: [], answer: () => ({ action: 'decline' }) };
  const framing = { protocolVersion: revision, clientInfo: { name: 'interop', version: '1' }, clientCapabilities: capabilities };
  const raw = revision === MODERN ? { rawDispatch: rawDispatch(transport), v2RequestFraming: framing } : {};
  session.tasks = createTaskSessionFromClient(client, {
    endpointId: 'conformance',
    ...raw,
    tools: {
      currentTool: (name) => tools.filter((tool) => tool.name === name).map(toolDeclarationFromMcpTool)[0],
    },
    async onInputRequest(request, context) {
      session.asked.push({ request, context });
      return session.answer(request);
    },
  });
  session.start = async (name, args = {}) => {
    const options = revision === MODERN ? {} : { task: { preference: 'require' } };
    const execution = await session.tasks.callTool(name, args, options);
    assert.equal(execution.kind, 'task');
    return execution;
  };
  return session;
}

const text = (result) => result.content[0].text;

// In the core protocol, questions arrive while a request for the result is pending. The package polls instead.
function forQuestions({ client, revision }, { handle: { taskId } }) {
  if (revision !== MODERN) client.request({ method: 'tasks/result', params: { taskId } }, all).catch(() => {});
}

async function settled(execution, onEvent) {
  return (await execution.settle({ onEvent, signal: AbortSignal.timeout(PATIENCE) })).outcome;
}

async function completed(execution) {
  const outcome = await settled(execution);
  assert.equal(outcome.status, 'completed', JSON.stringify(outcome));
  return outcome.result;
}

// Waits for a status that lasts until the client does something.
async function reached(task, status) {
  const patience = AbortSignal.timeout(PATIENCE);
  for (;;) {
    const view = await task.snapshot(patience);
    if (view.status === status) return view;
    assert.equal(view.status, 'working');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// Each check has a connection of its own.
const checks = {
  async 'a task is created, polled and completed'({ start }) {
    const execution = await start('slow_compute', { seconds: 0.3, label: 'it' });
    const seen = [];
    const outcome = await settled(execution, (event) => event.type === 'task' && seen.push(event.task));
    assert.equal(outcome.status, 'completed');
    assert.equal(text(outcome.result), 'Computed it.');
    assert.ok(seen.some((task) => task.status === 'working'), JSON.stringify(seen));
    for (const task of seen) {
      assert.equal(task.taskId, execution.handle.taskId);
      assert.ok(task.retentionMs > 0 && task.suggestedPollIntervalMs > 0, JSON.stringify(task));
      assert.ok(Date.parse(task.createdAt) <= Date.parse(task.lastUpdatedAt), JSON.stringify(task));
    }
  },

  async 'a tool that is never a task answers at once'({ tasks }) {
    const execution = await tasks.callTool('greet', { name: 'Ada' });
    assert.equal(execution.kind, 'immediate');
    assert.equal(text(await completed(execution)), 'Hello, Ada!');
  },

  async 'a question of a task is answered'(session) {
    session.answer = () => ({ action: 'accept', content: { confirm: true } });
    const execution = await session.start('confirm_delete', { filename: 'a.txt' });
    forQuestions(session, execution);
    assert.equal(text(await completed(execution)), 'Deleted a.txt.');
    const [{ request, context }, ...more] = session.asked;
    assert.deepEqual(more, []);
    assert.equal(request.kind, 'elicitation');
    assert.match(request.params.message, /a\.txt/);
    assert.deepEqual([context.scope, context.taskId], ['task', execution.handle.taskId]);
  },

  async 'a question of a task is declined'(session) {
    const execution = await session.start('confirm_delete', { filename: 'a.txt' });
    forQuestions(session, execution);
    assert.equal(text(await completed(execution)), 'Kept a.txt.');
    assert.equal(session.asked.length, 1);
  },

  async 'two questions at once are answered'(session) {
    session.answer = () => ({ action: 'accept', content: { confirm: true } });
    const execution = await session.start('multi_input');
    forQuestions(session, execution);
    assert.equal(text(await completed(execution)), '2 of 2 were answered.');
    assert.equal(session.asked.length, 2);
  },

  async 'answers are sent by hand, one after the other'({ start, tasks, revision }) {
    const execution = await start('multi_input');
    const task = tasks.task(execution.handle.taskId);
    assert.equal(task.capabilities.inputResponses, revision === MODERN);
    await execution.detach();
    const open = async () => Object.keys((await reached(task, 'input_required')).raw.inputRequests ?? {});
    if (revision !== MODERN) {
      assert.deepEqual(await open(), []);
      await assert.rejects(task.update({}), /V2/);
      return;
    }
    const accept = { action: 'accept', content: { confirm: true } };
    const [one, other, ...more] = await open();
    assert.deepEqual(more, []);
    await task.update({ [one]: accept, unknown: accept });
    assert.deepEqual(await open(), [other]);
    await task.update({ [other]: accept });
    const outcome = await task.result({ signal: AbortSignal.timeout(PATIENCE) });
    assert.equal(text(outcome.result), '2 of 2 were answered.');
  },

  async 'a running task is cancelled'({ start, tasks }) {
    const execution = await start('slow_compute', { seconds: 60 });
    const { taskId } = execution.handle;
    await execution.cancel();
    assert.equal((await settled(execution)).status, 'cancelled');
    assert.equal((await tasks.task(taskId).snapshot()).status, 'cancelled');
  },

  async 'a task that asks is cancelled'({ start, tasks }) {
    const execution = await start('confirm_delete', { filename: 'a.txt' });
    const task = tasks.task(execution.handle.taskId);
    await execution.detach();
    await reached(task, 'input_required');
    await task.cancel();
    assert.equal((await task.snapshot()).status, 'cancelled');
  },

  async 'a task is found again by its id'({ start, tasks }) {
    const execution = await start('slow_compute', { seconds: 0.3, label: 'it' });
    const { taskId } = execution.handle;
    await execution.detach();
    const outcome = await tasks.task(taskId).result({ signal: AbortSignal.timeout(PATIENCE) });
    assert.equal(text(outcome.result), 'Computed it.');
  },

  async 'an unknown task is refused'({ tasks }) {
    const invalid = (error) => assert.equal((error.details ?? error).code ?? error.error?.code, -32602, error) ?? true;
    for (const id of ['x', 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA']) {
      await assert.rejects(tasks.task(id).snapshot(), invalid);
      await assert.rejects(tasks.task(id).cancel(), invalid);
    }
  },

  async 'a failure of the tool is its result'({ start, revision }) {
    const outcome = await settled(await start('failing_job'));
    // In the core protocol, the status also says so.
    assert.equal(outcome.task?.status ?? outcome.status, revision === MODERN ? 'completed' : 'failed');
    assert.equal(outcome.result?.isError ?? true, true);
    if (outcome.result) assert.equal(text(outcome.result), 'This job always fails');
    else assert.match(outcome.error.message, /This job always fails/);
  },

  async 'a protocol error fails the task'({ start, revision }) {
    const outcome = await settled(await start('protocol_error_job'));
    assert.equal(outcome.status, 'failed');
    // In the core protocol, the package reports only the status message.
    assert.equal(outcome.error.code, revision === MODERN ? -32603 : undefined);
    assert.match(outcome.error.message, /This job ends with a protocol error/);
  },
};

async function visit(who, transport, Kind, revision, negotiation, name) {
  let server;
  try {
    server = await reach(program, transport);
    const session = await connect(server.make, Kind, revision, negotiation);
    await checks[name](session);
    await session.tasks.close();
    await session.client.close();
    say(who, name);
  } catch (error) {
    say(who, name, error);
  } finally {
    server?.stop();
  }
}

for (const transport of ['stdio', 'http']) {
  const Kind = TRANSPORTS[transport][1];
  for (const [revision, mode] of [[CORE, 'legacy'], [MODERN, { pin: MODERN }], [MODERN, 'auto']]) {
    const suffix = revision === CORE ? '' : mode === 'auto' ? ' auto' : ' pinned';
    const who = `ext-tasks ${transport} ${revision}${suffix}`;
    await Promise.all(Object.keys(checks).map((name) => visit(who, transport, Kind, revision, { mode }, name)));
  }
}
end();
