// The host of MCP Apps: the page of a tool in a frame of another origin, which has no way to this page but messages.

import { explain, list, request, state } from './client.js';
import { el, fill } from './dom.js';
import { isObject, parse, stringify } from './exact.js';
import { textOf } from './result.js';

const TYPE = 'text/html;profile=mcp-app';
const MAX_HEIGHT = 2_000;
/** Pixels of the frame's borders, which are part of its height. */
const BORDERS = 2;
const MAX_NOTES = 20;
/** Characters of a name in an error. */
const MAX_NAME = 128;
/** Apps that are answered: those of the newest calls. */
const MAX_APPS = 20;
const listening = [];

/** Returns the URI of the page that shows the results of a tool, if it has one. */
export function appOf(tool) {
  const uri = tool?._meta?.ui?.resourceUri ?? tool?._meta?.['ui/resourceUri'];
  return typeof uri === 'string' && uri.startsWith('ui://') ? uri : undefined;
}

/** Whether a page may call a tool, which may be only for models. */
const forPages = (tool) => !Array.isArray(tool._meta?.ui?.visibility) || tool._meta.ui.visibility.includes('app');

/** Fails unless a page may call the tool: it is among the tools that the server lists now, and not only for models. */
async function checkCallable(name, era) {
  // The list may have changed without a notification, which the modern era sends only to subscribers.
  const { items, problem } = await list('tools', 'tools', era);
  const found = items.filter((tool) => tool.name === name);
  if (!found.length) throw new Error(`${String(name).slice(0, MAX_NAME)} is not in the server's list of tools${problem ? `: ${problem}` : ''}`);
  if (!found.every(forPages)) throw new Error(`${name} is not for pages`);
}

/** Whether a name of a host is for this machine or the networks around it, as far as the name says so. Addresses count. */
const isNear = (host) => !host.includes('.') || /\.(local|localhost|internal|lan|home\.arpa|\d+|0x[\da-f]*)$/i.test(host);

/** Whether the server is not at this machine or near it, so that its pages may not reach what is. */
function isFar() {
  return /^https?:/.test(state.name) && !/^\[/.test(new URL(state.name).hostname) && !isNear(new URL(state.name).hostname);
}

/** Whether a page may load from a source: of a far server, only from domains that are far too. */
function isAllowed(source) {
  if (typeof source !== 'string' || !/^[\w.:/*-]+$/.test(source)) return false;
  if (!isFar() || ['data:', 'blob:'].includes(source)) return true;
  const [, host] = /^(?:(?:https?|wss?):\/\/)?(?:\*\.)?([\w-]+(?:\.[\w-]+)+)(?::(?:\d+|\*))?(?:\/.*)?$/i.exec(source) ?? [];
  return host !== undefined && !isNear(host);
}

/** The policy that the specification makes of what a page declares. Sources that are not allowed are added to `refused`. */
function policy(csp, refused) {
  const sources = (name) => {
    const declared = Array.isArray(csp?.[name]) ? csp[name] : [];
    refused.push(...declared.filter((one) => !isAllowed(one)));
    return declared.filter(isAllowed).join(' ');
  };
  const resources = sources('resourceDomains');
  return [
    "default-src 'none'", `script-src 'unsafe-inline' ${resources}`, `style-src 'unsafe-inline' ${resources}`, `connect-src ${sources('connectDomains') || "'none'"}`,
    `img-src data: ${resources}`, `font-src ${resources || "'none'"}`, `media-src data: ${resources}`, `frame-src ${sources('frameDomains') || "'none'"}`,
    "object-src 'none'", "form-action 'none'", "webrtc 'block'", `base-uri ${sources('baseUriDomains') || "'none'"}`,
  ].join('; ');
}

/** Shows the page of a tool with the arguments and the result of a call. */
export function appView(uri, { era, args, result }) {
  const notes = el('ul.notes');
  const place = el('div.app', null, el('p.about', null, 'App ', el('code', null, uri)), notes);
  load();
  return place;

  async function load() {
    const read = await request('resources/read', { uri }, { era });
    const contents = read.result?.contents?.[0];
    const html = contents && textOf(contents);
    if (html === undefined || contents.mimeType !== TYPE) {
      const reason = read.result ? `it is ${contents?.mimeType ?? 'empty'}, not ${TYPE}` : explain(read);
      place.prepend(el('p.problem', null, `The app's page cannot be read: ${reason}`));
      return;
    }
    const frame = el('iframe.app-frame', { title: `App ${uri}` });
    // The outer frame is of another origin; it makes the inner one, which is of none.
    frame.setAttribute('sandbox', 'allow-scripts allow-same-origin');
    const refused = [];
    const path = btoa(policy(contents._meta?.ui?.csp, refused)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
    frame.src = `http://${location.hostname}:${state.appPort}/${path}`;
    if (refused.length) {
      notes.append(el('li', null, 'The app may not load from: ', el('code', null, refused.slice(0, MAX_NOTES).map((one) => String(one).slice(0, 200)).join(' '))));
    }
    converse(frame, html);
    place.insertBefore(frame, notes);
  }

  function converse(frame, html) {
    const send = (message) => frame.contentWindow?.postMessage({ jsonrpc: '2.0', ...message }, `http://${location.hostname}:${state.appPort}`);
    const tell = (method, params) => send({ method, params });
    const note = (label, value) => {
      notes.append(el('li', null, `The app ${label}: `, el('code', null, typeof value === 'string' ? value : stringify(value) ?? '')));
      while (notes.childElementCount > MAX_NOTES) notes.firstElementChild.remove();
      return {};
    };
    const plainly = (value) => JSON.parse(stringify(value));
    const forward = async (method, params) => {
      const outcome = await request(method, params, { era });
      if (outcome.result) return plainly(outcome.result);
      throw Object.assign(new Error(explain(outcome)), { code: outcome.error?.code });
    };
    const requests = {
      'ui/initialize': ({ protocolVersion }) => ({
        protocolVersion, hostInfo: { name: 'mcp-dev', version: '0' },
        hostCapabilities: { openLinks: {}, serverTools: {}, serverResources: {}, logging: {} },
        hostContext: { theme: matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light', displayMode: 'inline', availableDisplayModes: ['inline'] },
      }),
      'ping': () => ({}),
      'tools/call': async (params) => {
        await checkCallable(params.name, era);
        return forward('tools/call', { name: params.name, arguments: params.arguments ?? {} });
      },
      'resources/read': ({ uri: wanted }) => forward('resources/read', { uri: wanted }),
      'ui/open-link': ({ url }) => note('wants to open', String(url)),
      'ui/message': (params) => note('writes to the conversation', params),
      'ui/update-model-context': (params) => note('tells the model', params),
      'ui/request-display-mode': () => ({ mode: 'inline' }),
    };
    const notifications = {
      'ui/notifications/sandbox-proxy-ready': () => tell('ui/notifications/sandbox-resource-ready', { html }),
      'ui/notifications/initialized': () => {
        tell('ui/notifications/tool-input', { arguments: plainly(args) });
        tell('ui/notifications/tool-result', plainly(result));
      },
      'ui/notifications/size-changed': ({ height }) => { if (height > 0) frame.style.height = `${Math.min(Number(height), MAX_HEIGHT) + BORDERS}px`; },
      'notifications/message': (params) => note('logs', params.data ?? ''),
    };
    const listen = async ({ source, data }) => {
      if (source !== frame.contentWindow || !isObject(data) || typeof data.method !== 'string') return undefined;
      const params = isObject(data.params) ? data.params : {};
      const known = (table) => (Object.hasOwn(table, data.method) ? table[data.method] : undefined);
      if (data.id === undefined) return known(notifications)?.(params);
      try {
        const answer = known(requests);
        if (!answer) return send({ id: data.id, error: { code: -32601, message: 'Method not found' } });
        return send({ id: data.id, result: await answer(parse(stringify(params))) });
      } catch (error) {
        return send({ id: data.id, error: { code: Number(error.code) || -32000, message: error.message } });
      }
    };
    addEventListener('message', listen);
    listening.push(listen);
    if (listening.length > MAX_APPS) removeEventListener('message', listening.shift());
  }
}
