// The outcome of each check, and the number of those that passed.

let passed = 0;
let failed = 0;

export function say(who, name, problem) {
  if (problem === undefined) passed += 1;
  else failed += 1;
  console.log(`${who} ${name} ... ${problem === undefined ? 'ok' : `FAILED: ${problem?.stack ?? problem}`}`);
}

export function skip(who, why) {
  console.log(`${who} ... skipped: ${why}`);
}

export function end() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed > 0 || passed === 0 ? 1 : 0);
}
