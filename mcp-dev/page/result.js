// Results as people read them: content of tools, messages of prompts, contents of resources, errors.

import { amount, copy, el, long, plain, size, visible } from './dom.js';
import { isObject, stringify } from './exact.js';
import { inline, looksLike, markdown } from './markdown.js';
import { rows, tree } from './tree.js';

const MAX_MARKDOWN = 100_000;
const MAX_BLOCKS = 200;
/** Characters of a message that is shown whole. */
const MAX_LINE = 1_000;

/** Shows the result of a method. */
export function showResult(method, result) {
  if (!isObject(result)) return odd(result);
  switch (method) {
    case 'tools/call': return toolResult(result);
    case 'prompts/get': return promptResult(result);
    case 'resources/read': return blocks(result.contents, resourceContents) ?? odd(result);
    default: return tree(result);
  }
}

const odd = (result) => el('div', null, el('p.problem', null, 'This result does not match the protocol.'), tree(result));

function toolResult(result) {
  const content = blocks(result.content, contentBlock);
  const structured = result.structuredContent;
  const parts = [];
  if (result.isError) parts.push(el('p.problem', null, 'The tool failed. The model reads:'));
  // The text of structured content repeats it.
  const repeated = structured !== undefined && Array.isArray(result.content) && result.content.every((block) => block?.type === 'text' && repeats(block.text, structured));
  if (structured !== undefined) parts.push(structuredView(structured));
  if (content && !repeated) parts.push(content);
  if (!parts.length || (!content && structured === undefined)) return odd(result);
  return el(result.isError ? 'div.failed' : 'div', null, parts);
}

function repeats(text, structured) {
  try {
    return stringify(JSON.parse(text)) === stringify(JSON.parse(stringify(structured)));
  } catch {
    return false;
  }
}

/** Structured content: rows as a table, a member with rows as a table below its name, all else as a tree. */
export function structuredView(value) {
  const table = rows(value);
  if (table) return table;
  if (!isObject(value)) return tree(value);
  const tables = Object.entries(value).map(([name, member]) => [name, rows(member)]).filter(([, found]) => found);
  if (!tables.length) return tree(value);
  const rest = Object.fromEntries(Object.entries(value).filter(([name]) => !tables.some(([other]) => other === name)));
  return el('div.blocks', null, tables.map(([name, found]) => [el('h4', null, name), found]), Object.keys(rest).length ? tree(rest) : null);
}

function blocks(list, show) {
  if (!Array.isArray(list)) return undefined;
  const shown = list.slice(0, MAX_BLOCKS).map((block) => (isObject(block) ? show(block) : tree(block)));
  const more = list.length > MAX_BLOCKS && el('p.about', null, `and ${amount(list.length - MAX_BLOCKS)} more`);
  return el('div.blocks', null, list.length ? shown : el('p.about', null, 'No content.'), more);
}

/** The text of the contents of a resource, also of one that was sent as bytes. */
export function textOf(contents) {
  if (typeof contents.text === 'string' || typeof contents.blob !== 'string') return contents.text;
  return new TextDecoder().decode(Uint8Array.from(atob(contents.blob), (character) => character.charCodeAt(0)));
}

/** Shows one block of content. */
export function contentBlock(block) {
  switch (block.type) {
    case 'text': return textView(String(block.text ?? ''));
    case 'image': return media('image', block.data, block.mimeType);
    case 'audio': return media('audio', block.data, block.mimeType);
    case 'resource': return isObject(block.resource) ? resourceContents(block.resource) : tree(block);
    case 'resource_link': return el('div.link', null,
      el('strong', null, block.title ?? block.name ?? 'link'), ' ', el('code', null, String(block.uri ?? '')),
      block.description && el('p.about', null, inline(String(block.description))));
    default: return tree(block);
  }
}

function textView(text, kind) {
  const json = /^\s*[[{]/.test(text) && text.length < 1e6 ? parsed(text) : undefined;
  if (json !== undefined) return el('div', null, structuredView(json));
  if ((kind === 'text/markdown' || looksLike(text)) && text.length <= MAX_MARKDOWN) {
    const shown = el('div', null, markdown(text));
    return el('div', null, shown, el('details.source', null, el('summary', null, 'as text'), el('pre.text', null, text)));
  }
  return long(text);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/svg+xml'];

/** The bytes of an element are kept as long as the element. */
const urls = new FinalizationRegistry((url) => URL.revokeObjectURL(url));

/** An image or sound from its bytes. As a picture an SVG runs no script and loads nothing. */
function media(kind, data, type) {
  const about = `${type ?? kind}`;
  let bytes;
  try {
    bytes = Uint8Array.from(atob(String(data)), (character) => character.charCodeAt(0));
  } catch {
    return el('p.problem', null, `${about}: the data is not Base64`);
  }
  const caption = el('figcaption', null, `${about}, ${size(bytes.length)}`);
  if (kind === 'image' && !IMAGES.includes(type)) return el('figure', null, caption);
  const url = URL.createObjectURL(new Blob([bytes], { type: plain(type ?? '') }));
  const shown = kind === 'image' ? el('img', { src: url, alt: about }) : el('audio', { src: url, controls: true });
  urls.register(shown, url);
  shown.onload = () => URL.revokeObjectURL(url);
  shown.onerror = () => {
    URL.revokeObjectURL(url);
    shown.remove();
    caption.textContent += ': cannot be shown';
  };
  return el('figure', null, shown, caption);
}

function resourceContents(contents) {
  const type = contents.mimeType;
  const head = el('p.about', null, el('code', null, String(contents.uri ?? '')), type ? ` ${type}` : '');
  if (typeof contents.text === 'string') return el('div', null, head, textView(contents.text, type));
  if (typeof contents.blob === 'string') return el('div', null, head, media(type?.startsWith('image/') ? 'image' : type?.startsWith('audio/') ? 'audio' : 'data', contents.blob, type));
  return tree(contents);
}

function promptResult(result) {
  if (!Array.isArray(result.messages)) return odd(result);
  return el('div', null, result.description && el('p.about', null, inline(String(result.description))), messageList(result.messages));
}

/** Messages of a prompt or of a sampling request. */
export function messageList(messages) {
  return el('div.messages', null, messages.slice(0, MAX_BLOCKS).map((message) => el(`div.message.${message?.role === 'assistant' ? 'assistant' : 'user'}`, null,
    el('span.role', null, String(message?.role ?? 'no role')),
    [message?.content].flat().filter(isObject).map(contentBlock))));
}

/** The text that a model reads of a result, as most hosts give it to one. */
export function modelText(outcome) {
  if (outcome.error) return `MCP error ${outcome.error.code}: ${outcome.error.message ?? ''}`;
  const { result } = outcome;
  const list = result?.content ?? result?.contents ?? result?.messages?.map((message) => message?.content);
  if (!Array.isArray(list)) return stringify(result, 2) ?? '';
  return list.flat().map((block) => {
    const text = block?.text ?? block?.resource?.text;
    return typeof text === 'string' ? text : `[${block?.type ?? block?.mimeType ?? 'content'}]`;
  }).join('\n');
}

/** An error object of JSON-RPC. */
export function errorView(error) {
  const text = String(error.message ?? 'without a message');
  return el('div.failed', null,
    text.length > MAX_LINE ? [el('p.problem', null, `Error ${error.code}:`), long(text)] : el('p.problem', null, `Error ${error.code}: `, visible(text)),
    error.data === undefined ? null : typeof error.data === 'string' ? long(error.data) : tree(error.data));
}

/** Tokens of a text, roughly: four characters each, and one for each character of scripts without spaces. */
export function tokens(text) {
  let wide = 0;
  for (const character of text) if (character > '\u2e7f') wide += 1;
  return Math.ceil((text.length - wide) / 4 + wide);
}

export const copyJson = (value) => copy('Copy JSON', () => stringify(value, 2));
