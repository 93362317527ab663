// Loads the module in anything that runs JavaScript: node, a browser, a worker. No other code is needed.
//
//   const server = await load(bytes);
//   const answer = await server.handle('{"jsonrpc":"2.0",…}'); // the text of the response, or null if there is none

export async function load(bytes) {
  const answers = new Map();
  let last = 0, timer, wasm;
  const memory = (at, length) => new Uint8Array(wasm.memory.buffer, at, length);
  const host = {
    now: () => performance.now(),
    unix_time: () => Date.now(),
    random: (at, length) => {
      // This many bytes at most are given at once.
      for (let from = 0; from < length; from += 65_536) {
        crypto.getRandomValues(memory(at + from, Math.min(65_536, length - from)));
      }
    },
    answer: (ticket, at, length) => {
      const answered = answers.get(ticket);
      answers.delete(ticket);
      answered(length === 0 ? null : new TextDecoder().decode(memory(at, length)));
    },
  };
  wasm = (await WebAssembly.instantiate(bytes, { host })).instance.exports;
  // Comes back when the module has something to do: the time of a call is over, say.
  const later = (milliseconds) => {
    clearTimeout(timer);
    if (Number.isFinite(milliseconds)) timer = setTimeout(() => later(wasm.poll()), milliseconds);
  };
  wasm.start();
  return {
    handle(text) {
      const message = new TextEncoder().encode(text), ticket = ++last;
      memory(wasm.buffer(message.length), message.length).set(message);
      return new Promise((answered) => {
        answers.set(ticket, answered);
        later(wasm.handle(ticket));
      });
    },
  };
}
