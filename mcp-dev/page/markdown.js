// Simple Markdown as elements: front matter, headings, lists, tables, code, emphasis. Links and images stay text, HTML stays text.
// No expression here takes more than linear time: the texts are those of servers.

import { el } from './dom.js';

const MAX_BLOCKS = 2_000;

/** Whether a text looks as if it were written as Markdown. */
export const looksLike = (text) => /^(#{1,6} |[-*] |\d+\. |```|> |\|.+\|)/m.test(text) || /\*\*[^*\n]+\*\*|`[^`\n]+`/.test(text);

export function markdown(text) {
  const lines = text.split(/\r\n|[\n\r\u2028\u2029]/);
  const blocks = [];
  let at = 0;
  const front = lines[0] === '---' ? lines.indexOf('---', 1) : -1;
  if (front > 0) {
    blocks.push(el('pre.text', null, lines.slice(1, front).join('\n')));
    at = front + 1;
  }
  const while_ = (test) => { const from = at; while (at < lines.length && test(lines[at])) at += 1; return lines.slice(from, at); };
  while (at < lines.length && blocks.length < MAX_BLOCKS) {
    const line = lines[at];
    const fence = line.match(/^\s*(```+|~~~+)/);
    const heading = line.match(/^(#{1,6}) +(.*)$/);
    if (line.trim() === '') at += 1;
    else if (fence) {
      at += 1;
      // Models read what stands behind a fence, so it is shown.
      const rest = line.trim().slice(fence[1].length).trim();
      if (rest !== '') blocks.push(el('p.hint', null, rest));
      const ends = (next) => /^(`{3,}|~{3,})$/.test(next.trim()) && next.trim().startsWith(fence[1]);
      const code = while_((next) => !ends(next));
      at += 1;
      blocks.push(el('pre.text', null, code.join('\n')));
    } else if (heading) {
      at += 1;
      blocks.push(el(`h${Math.min(heading[1].length + 2, 6)}`, null, inline(heading[2])));
    } else if (/^ {0,3}([-*_])( *\1){2,} *$/.test(line)) { at += 1; blocks.push(el('hr')); }
    else if (/^>/.test(line)) blocks.push(el('blockquote', null, inline(while_((next) => /^>/.test(next)).map((next) => next.replace(/^> ?/, '')).join('\n'))));
    else if (/^\s*([-*+]|\d+[.)]) /.test(line)) blocks.push(list(while_((next) => /^\s*([-*+]|\d+[.)]) /.test(next) || /^\s+\S/.test(next))));
    else if (line.includes('|') && /^[\s|:-]+$/.test(lines[at + 1] ?? '') && lines[at + 1].includes('-')) blocks.push(table(while_((next) => /\|/.test(next))));
    else {
      const from = at;
      at += 1;
      while_((next) => next.trim() !== '' && !/^(#{1,6} |```|>|\s*([-*+]|\d+[.)]) )/.test(next));
      blocks.push(el('p.lines', null, inline(lines.slice(from, at).join('\n'))));
    }
  }
  if (at < lines.length) blocks.push(el('pre.text', null, lines.slice(at).join('\n')));
  return el('div.markdown', null, blocks);
}

function list(lines) {
  const items = [];
  for (const line of lines) {
    const item = line.match(/^(\s*)([-*+]|\d+[.)]) (.*)$/);
    if (item) items.push({ indent: Math.min(Math.floor(item[1].length / 2), 6), text: item[3] });
    else if (items.length) items.at(-1).text += `\n${line.trim()}`;
  }
  const kind = /^\s*\d/.test(lines[0]) ? 'ol' : 'ul';
  return el(kind, null, items.map(({ indent, text }) => el(`li.indent-${indent}`, null, inline(text))));
}

function table(lines) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => inline(cell.trim()));
  const [head, , ...rows] = lines;
  return el('div.scroll', null, el('table', null,
    el('thead', null, el('tr', null, cells(head).map((cell) => el('th', null, cell)))),
    el('tbody', null, rows.map((row) => el('tr', null, cells(row).map((cell) => el('td', null, cell)))))));
}

/** Emphasis and code within a line. */
export function inline(text) {
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(/`([^`\n]+)`|\*\*([^*\n]+)\*\*|(?<![\w*])\*([^*\s][^*\n]*)\*(?![\w*])|(?<!\w)_([^_\s][^_\n]*)_(?!\w)/g)) {
    parts.push(text.slice(from, match.index));
    const [, code, strong, ...soft] = match;
    parts.push(code ? el('code', null, code) : strong ? el('strong', null, strong) : el('em', null, soft.find(Boolean)));
    from = match.index + match[0].length;
  }
  parts.push(text.slice(from));
  return parts;
}
