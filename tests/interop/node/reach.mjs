// The way of a client to a program: its transport, and a relay.
//
// The checks themselves are in drive.mjs.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { createInterface } from 'node:readline';

export const PATIENCE = 20_000;

// Starts a program; returns a function that makes a transport to it, and one that stops it. `relay` is between the two, if given.
export async function reach(command, transport, relay, environment) {
  const env = { ...process.env, ...environment };
  if (transport === 'stdio') return { make: (Kind) => new Kind({ command, env }), stop() {} };
  const server = spawn(command, ['--http', '127.0.0.1:0'], { stdio: ['ignore', 'ignore', 'pipe'], env });
  const lines = createInterface(server.stderr);
  const [address] = await once(lines, 'line', { signal: AbortSignal.timeout(PATIENCE) });
  lines.on('line', () => {}); // so that it never blocks on unread output
  const url = new URL(address);
  if (relay) url.port = await relay.to(url);
  return {
    make: (Kind) => new Kind(url),
    stop() {
      server.kill('SIGKILL');
      relay?.close();
    },
  };
}

// Passes connections on to a server, and cuts them when told to.
export class Relay {
  sockets = new Set();

  // The port at which it stands in for a server.
  async to({ port, hostname }) {
    this.listener = net.createServer((client) => {
      const server = net.connect(port, hostname);
      for (const [from, to] of [[client, server], [server, client]]) {
        this.sockets.add(from);
        from.on('error', () => {});
        from.on('close', () => {
          this.sockets.delete(from);
          to.end();
        });
        from.pipe(to);
      }
    });
    this.listener.listen(0, hostname);
    await once(this.listener, 'listening');
    return this.listener.address().port;
  }

  cut() {
    for (const socket of this.sockets) socket.destroy();
  }

  close() {
    this.listener.close();
    this.cut();
  }
}
