// Checks of the MCP bundles that `mcp-dev bundle` makes, with the official tool: it validates the manifest, unpacks the bundle, and says what a host would start.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { getMcpConfigForManifest } from '@anthropic-ai/mcpb/node';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const run = promisify(execFile);
const main = createRequire(import.meta.url).resolve('@anthropic-ai/mcpb');
const tool = (...words) => run(process.execPath, [join(dirname(main), 'cli', 'cli.js'), ...words]);

// Packs an example, and returns the manifest, and what a host starts whose user has set nothing.
async function unpacked(program, folder, environment = {}) {
  const bundle = join(folder, 'server.mcpb');
  const words = ['bundle', '--author', 'You', '--description', 'A server', '--output', bundle, '--', program];
  await run(process.env.MCP_DEV, words, { env: environment });
  const directory = join(folder, 'unpacked');
  await tool('unpack', bundle, directory);
  const path = join(directory, 'manifest.json');
  await tool('validate', path);
  const manifest = JSON.parse(await readFile(path, 'utf8'));
  const config = await getMcpConfigForManifest({ manifest, extensionPath: directory, systemDirs: {}, userConfig: {}, pathSeparator: '/' });
  return { manifest, config };
}

async function inFolder(check) {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-bundle-'));
  try {
    await check(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

export const bundles = {
  // `guide` has a tool and a prompt, and no settings.
  unpacks_to_a_server: (programs) => inFolder(async (folder) => {
    const { manifest, config } = await unpacked(join(programs, 'guide'), folder);
    const client = new Client({ name: 'interop', version: '1' });
    await client.connect(new StdioClientTransport(config));
    const { tools } = await client.listTools();
    assert.deepEqual(manifest.tools, tools.map(({ name, description }) => ({ name, description })));
    assert.ok(manifest.prompts_generated);
    await client.close();
  }),

  // `kept_tasks` does not start without settings.
  asks_for_settings: (programs) => inFolder(async (folder) => {
    const { manifest, config } = await unpacked(join(programs, 'kept_tasks'), folder, {
      KEPT_TASKS: join(folder, 'tasks.db'),
    });
    const required = Object.entries(manifest.user_config).filter(([, setting]) => setting.required);
    assert.notEqual(required.length, 0);
    assert.equal(config, undefined);
  }),

  // `weather` has a default, and a secret that the user may leave open: its placeholder reaches the server.
  hides_secrets: (programs) => inFolder(async (folder) => {
    const { manifest, config } = await unpacked(join(programs, 'weather'), folder);
    assert.equal(manifest.user_config.weather_api_key.sensitive, true);
    assert.equal(manifest.user_config.weather_api_key.required, false);
    assert.deepEqual(config.env, { WEATHER_URL: 'https://api.open-meteo.com', WEATHER_API_KEY: '${user_config.weather_api_key}' });
    const client = new Client({ name: 'interop', version: '1' });
    await client.connect(new StdioClientTransport(config));
    assert.equal((await client.listTools()).tools.length, manifest.tools.length);
    await client.close();
  }),
};
