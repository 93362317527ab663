// The two official clients, and what they spell differently.

import assert from 'node:assert/strict';

import * as all2 from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as Sse1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types1 from '@modelcontextprotocol/sdk/types.js';

export const TRANSPORTS = {
  stdio: [Stdio1, Stdio2],
  http: [Http1, all2.StreamableHTTPClientTransport],
  sse: [Sse1, all2.SSEClientTransport],
};
export const LEGACY = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
export const MODERN = '2026-07-28';

// The older client always offers its newest revision; a host that is behind would offer an older one.
function behind(transport, revision) {
  const send = transport.send.bind(transport);
  transport.send = (message, ...rest) =>
    message.method === 'initialize'
      ? send({ ...message, params: { ...message.params, protocolVersion: revision } }, ...rest)
      : send(message, ...rest);
  return transport;
}

const info = { name: 'interop', version: '1' };

// The four things the clients spell differently.
export async function connect1(make, Kind, revision, person) {
  const client = new Client1(info, { capabilities: person?.capabilities ?? {} });
  person?.serve((method, handler) =>
    client.setRequestHandler(
      { 'elicitation/create': types1.ElicitRequestSchema, 'sampling/createMessage': types1.CreateMessageRequestSchema }[method],
      handler,
    ),
  );
  await client.connect(behind(make(Kind), revision));
  return {
    client,
    call: (name, args = {}, options) => client.callTool({ name, arguments: args }, undefined, options),
    on: (method, handler) => {
      const schema = {
        'notifications/message': types1.LoggingMessageNotificationSchema,
        'notifications/resources/list_changed': types1.ResourceListChangedNotificationSchema,
        'notifications/resources/updated': types1.ResourceUpdatedNotificationSchema,
        'notifications/tools/list_changed': types1.ToolListChangedNotificationSchema,
      }[method];
      client.setNotificationHandler(schema, handler);
    },
    level: (level) => client.setLoggingLevel(level),
  };
}

export async function connect2(make, Kind, revision, person, versionNegotiation) {
  const modern = revision === MODERN;
  const client = new all2.Client(info, {
    capabilities: person?.capabilities ?? {},
    versionNegotiation,
    ...(modern ? {} : { supportedProtocolVersions: [revision] }),
  });
  person?.serve((method, handler) => client.setRequestHandler(method, handler));
  await client.connect(make(Kind));
  assert.equal(client.getNegotiatedProtocolVersion(), revision);
  return {
    client,
    call: (name, args = {}, options) =>
      client.callTool(
        {
          name,
          arguments: args,
          ...(modern && name === 'log' ? { _meta: { 'io.modelcontextprotocol/logLevel': 'warning' } } : {}),
        },
        options,
      ),
    on: (method, handler) => client.setNotificationHandler(method, handler),
    level: async (level) => (modern ? undefined : client.setLoggingLevel(level)),
  };
}
