// Persons who answer the questions of the example `deploy` differently.

import assert from 'node:assert/strict';

import { MODERN } from './clients.mjs';

// Answers questions of the example `deploy`, and stands for its model.
class Person {
  asked = [];
  summedUp = [];

  constructor(action, approve, hasModel = true) {
    Object.assign(this, { action, approve, hasModel });
    this.capabilities = { ...(action ? { elicitation: {} } : {}), ...(hasModel ? { sampling: {} } : {}) };
  }

  serve(handle) {
    if (this.action) handle('elicitation/create', ({ params }) => {
      this.asked.push(params);
      const content = { approve: this.approve, target: 'production', instances: 3, note: 'on a Friday' };
      return this.action === 'accept' ? { action: 'accept', content } : { action: this.action };
    });
    if (!this.hasModel) return;
    handle('sampling/createMessage', ({ params }) => {
      this.summedUp.push(params);
      return { role: 'assistant', content: { type: 'text', text: 'All is well.' }, model: 'none', stopReason: 'endTurn' };
    });
  }
}

const DONE = 'v1 is on Production, 3 instances (on a Friday)';

async function deploys({ call, person }) {
  const result = await call('deploy', { service: 'shop' });
  assert.ok(!result.isError, JSON.stringify(result));
  assert.equal(result.content[0].text, person.hasModel ? 'All is well.' : DONE);
  assert.deepEqual(person.asked.map((question) => question.message), [
    'Deploy shop? build shop v1, test shop v1, start shop v1',
  ]);
  assert.deepEqual(Object.keys(person.asked[0].requestedSchema.properties).sort(), [
    'approve',
    'instances',
    'note',
    'target',
  ]);
  assert.equal(person.summedUp.length, person.hasModel ? 1 : 0);
  if (person.hasModel) assert.ok(JSON.stringify(person.summedUp[0].messages).includes(DONE));
}

async function does_not_deploy({ call, person }) {
  const result = await call('deploy', { service: 'shop' });
  assert.ok(result.isError);
  assert.equal(person.asked.length, 1);
  assert.equal(person.summedUp.length, 0);
  if (person.action === 'accept') assert.match(result.content[0].text, /not approved/);
}

async function deploys_at_the_word_of_the_model({ call, person }) {
  const result = await call('deploy', { service: 'shop', approved: true });
  assert.equal(result.content[0].text, 'All is well.');
  assert.ok(JSON.stringify(person.summedUp[0].messages).includes('v1 is on Staging, 2 instances (as the model says)'));
}

async function says_that_it_cannot_ask({ call, revision }) {
  const asked = call('deploy', { service: 'shop' });
  if (revision === MODERN) await assert.rejects(asked, { code: -32021 });
  else assert.ok((await asked).isError);
}

// Checks of `deploy`, and the answers to its questions.
export const scenes = {
  approved: [deploys, () => new Person('accept', true)],
  approved_without_a_model: [deploys, () => new Person('accept', true, false)],
  not_approved: [does_not_deploy, () => new Person('accept', false)],
  declined: [does_not_deploy, () => new Person('decline')],
  cancelled: [does_not_deploy, () => new Person('cancel')],
  approved_before: [deploys_at_the_word_of_the_model, () => new Person()],
  cannot_be_asked: [says_that_it_cannot_ask, () => undefined],
};
