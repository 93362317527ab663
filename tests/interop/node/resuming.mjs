// Coming back after a connection was cut, in the fixture `everything`.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { until } from './session.mjs';

// Each has its connection to itself: a cut ends more than one call.
export const resuming = {
  async resumes_a_call({ call, relay }) {
    const steps = [];
    const onprogress = (step) => {
      steps.push(step.progress);
      if (step.progress === 1) relay.cut();
    };
    const result = await call('count', { steps: 3, pause_ms: 100 }, { onprogress });
    assert.ok(!result.isError);
    assert.deepEqual(steps, [1, 2, 3]);
  },

  async hears_what_it_missed({ call, on, relay }) {
    let changes = 0;
    on('notifications/tools/list_changed', () => void (changes += 1));
    await call('switch_extra', { on: false });
    await until('a change', () => changes === 1); // so the stream is open
    relay.cut();
    await sleep(100); // the clients wait a second before they come back
    await call('switch_extra', { on: true });
    await until('another change', () => changes === 2);
  },
};
