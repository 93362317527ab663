// Forms made from JSON Schema. A field has `node`, `get()` and `set(value)`; `get` returns undefined for a value that is left
// out, and throws an Error that says what is wrong with the text in it. Whether a value fits is for the server to say.

import { el, fill, plain } from './dom.js';
import { isObject, number, parse, stringify } from './exact.js';
import { inline } from './markdown.js';
import { bounds, choices, resolve, typeOf } from './schema.js';

const MAX_DEPTH = 8;
/** Fields that a form has before a user unfolds more of it: schemas may refer to themselves. */
const MAX_FIELDS = 300;
let ids = 0;

/** Makes the form of an object schema. `complete(name, value)` returns proposals for the text of a field. */
export function makeForm(schema, { complete, headless } = {}) {
  const root = isObject(schema) ? schema : {};
  const resolved = resolve(root, root);
  const named = isObject(resolved.properties) && Object.keys(resolved.properties).length > 0;
  const open = isObject(resolved.additionalProperties) || resolved.additionalProperties === true || resolved.patternProperties;
  return named || headless || !open
    ? objectField(resolved, { root, depth: 0, complete, budget: { left: MAX_FIELDS } })
    : rawField(resolved, { required: true, initial: {} });
}

function makeField(schema, context) {
  const resolved = resolve(schema, context.root);
  context.budget.left -= 1;
  if (context.depth > MAX_DEPTH || context.budget.left < 0) return rawField(resolved, context);
  if ('const' in resolved) return constField(resolved);
  const options = choices(resolved);
  if (options) return choiceField(resolved, options, context);
  if (Array.isArray(resolved.oneOf ?? resolved.anyOf)) return variantField(resolved, context);
  switch (typeOf(resolved)) {
    case 'string': return stringField(resolved, context);
    case 'integer':
    case 'number': return numberField(resolved, context);
    case 'boolean': return booleanField(resolved, context);
    case 'array': return arrayField(resolved, context);
    case 'object': return isObject(resolved.properties) ? optionalObject(resolved, context) : rawField(resolved, context);
    default: return rawField(resolved, context);
  }
}

/** A label with a field, and what is known about it. */
function labelled(name, schema, required, field) {
  const id = `field-${ids += 1}`;
  const target = field.input ?? field.node;
  target.id = id;
  const hint = bounds(schema);
  const label = el(field.group ? 'div.label' : 'label.label', field.group ? { id: `${id}-label` } : { for: id },
    el('span.name', null, name),
    required && el('span.required', { title: 'required' }, '*'),
    schema.title && schema.title !== name && el('span.title', null, schema.title),
    schema.description && el('span.about', { id: `${id}-about` }, inline(String(schema.description))),
    hint && el('span.hint.bounds', null, hint));
  if (field.group) target.setAttribute('aria-labelledby', `${id}-label`);
  if (schema.description) target.setAttribute('aria-describedby', `${id}-about`);
  return el(field.inline ? 'div.field.inline' : 'div.field', null, label, field.node);
}

function objectField(schema, context) {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const resolved = resolve(property, context.root);
    const complete = context.complete && context.depth === 0 && ((value) => context.complete(name, value));
    const inner = { ...context, complete, required: required.has(name), depth: context.depth + 1, name };
    return { name, field: makeField(property, inner), resolved, required: required.has(name) };
  });
  const rows = fields.map(({ name, field, resolved, required }) => field.hidden ? null : labelled(name, resolved, required, field));
  const node = el('div.fields', null, rows);
  return {
    node, group: true, fields,
    get() {
      const value = {};
      for (const { name, field } of fields) {
        const part = within(name, () => field.get());
        if (part !== undefined) value[name] = part;
      }
      return value;
    },
    set(value) {
      for (const { name, field } of fields) field.set(isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined);
    },
  };
}

function within(name, get) {
  try {
    return get();
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}

/** A nested object. One that is not required is left out, and not even made, until the user wants it. */
function optionalObject(schema, context) {
  if (context.required) {
    const inner = objectField(schema, context);
    return { ...inner, node: el('div.nested', { role: 'group' }, inner.node) };
  }
  const box = el('input', { type: 'checkbox', 'aria-label': `include ${context.name ?? 'it'}` });
  const body = el('div.nested', { role: 'group', hidden: true });
  let inner;
  const show = () => {
    if (box.checked && !inner) {
      inner = objectField(schema, { ...context, budget: { left: MAX_FIELDS } });
      body.append(inner.node);
    }
    body.hidden = !box.checked;
  };
  box.onchange = show;
  return {
    node: el('div', null, el('label.check', null, box, 'include'), body), input: box, group: true,
    get: () => (box.checked ? inner.get() : undefined),
    set(value) { box.checked = value !== undefined; show(); inner?.set(value); },
  };
}

const constField = (schema) => ({ node: el('span'), hidden: true, get: () => schema.const, set() {} });

function stringField(schema, { required, complete }) {
  const file = schema.contentEncoding === 'base64' || schema.format === 'byte';
  const kind = { date: 'date', email: 'email', password: 'password' }[schema.format];
  const input = complete || kind ? el('input', { type: kind ?? 'text', autocomplete: 'off' }) : el('textarea', { rows: 1 });
  input.spellcheck = false;
  const examples = { 'date-time': '2026-07-28T12:00:00Z', uri: 'https://…', time: '12:00:00' };
  input.placeholder = plain(schema.examples?.[0] ?? examples[schema.format] ?? '');
  if (schema.default !== undefined) input.value = String(schema.default);
  const node = el('div.text-field', null, input);
  if (file) node.append(filePicker(input));
  if (complete) node.append(completion(input, complete));
  return {
    node, input,
    get: () => (input.value === '' && !required ? undefined : input.value),
    set(value) { input.value = value === undefined ? '' : typeof value === 'string' ? value : stringify(value); },
  };
}

function filePicker(input) {
  const picker = el('input', { type: 'file', 'aria-label': 'a file, as Base64' });
  picker.onchange = () => {
    const reader = new FileReader();
    reader.onload = () => { input.value = String(reader.result).split(',')[1] ?? ''; };
    if (picker.files[0]) reader.readAsDataURL(picker.files[0]);
  };
  return picker;
}

function completion(input, complete) {
  const list = el('datalist', { id: `proposals-${ids += 1}` });
  input.setAttribute('list', list.id);
  let latest = 0;
  const ask = async () => {
    const turn = latest += 1;
    await new Promise((resume) => setTimeout(resume, 120));
    if (turn !== latest) return;
    const values = await complete(input.value);
    if (turn === latest) fill(list, values.slice(0, 100).map((value) => el('option', { value: plain(value) })));
  };
  input.addEventListener('input', ask);
  input.addEventListener('focus', ask);
  return list;
}

function numberField(schema, { required }) {
  const input = el('input', { type: 'number', step: 'any', autocomplete: 'off' });
  for (const [bound, word] of [['min', schema.minimum], ['max', schema.maximum]]) {
    if (word !== undefined) input.setAttribute(bound, word?.rawJSON ?? word);
  }
  if (typeOf(schema) === 'integer') input.step = 1;
  if (schema.default !== undefined && schema.default !== null) input.value = schema.default?.rawJSON ?? schema.default;
  return {
    node: input, input,
    get() {
      if (input.validity.badInput) throw new Error('not a number');
      if (input.value !== '') return number(input.value);
      if (required) throw new Error('a number is required');
      return undefined;
    },
    set(value) { input.value = value === undefined || value === null ? '' : value?.rawJSON ?? value; },
  };
}

function booleanField(schema, { required }) {
  if (required || typeof schema.default === 'boolean') {
    const input = el('input', { type: 'checkbox', checked: schema.default === true });
    return { node: input, input, inline: true, get: () => input.checked, set(value) { input.checked = value ?? schema.default === true; } };
  }
  return choiceField(schema, [{ value: true, title: 'true' }, { value: false, title: 'false' }], { required });
}

function choiceField(schema, options, { required }) {
  const input = el('select', null,
    !required && el('option', { value: '' }, '—'),
    options.map(({ title, description }, at) => el('option', { value: String(at), title: description }, title)));
  const select = (value) => {
    const at = options.findIndex((option) => stringify(option.value) === stringify(value));
    input.value = at >= 0 ? String(at) : required ? '0' : '';
  };
  select(schema.default);
  return { node: input, input, get: () => (input.value === '' ? undefined : options[Number(input.value)].value), set: select };
}

function variantField(schema, context) {
  const variants = (schema.oneOf ?? schema.anyOf).map((part) => resolve(part, context.root));
  const { oneOf, anyOf, ...shared } = schema;
  const made = new Map();
  const fieldOf = (at) => {
    if (!made.has(at)) {
      const form = { ...shared, ...variants[at], title: undefined, description: undefined };
      made.set(at, makeField(form, { ...context, required: true, depth: context.depth + 1 }));
    }
    return made.get(at);
  };
  const name = (variant, at) => {
    const tag = Object.values(variant.properties ?? {}).find((property) => isObject(property) && typeof property.const === 'string');
    return variant.title ?? tag?.const ?? Object.keys(variant.properties ?? {})[0] ?? (variant.const !== undefined ? String(variant.const) : typeOf(variant) ?? `form ${at + 1}`);
  };
  const select = el('select', { 'aria-label': 'form' },
    !context.required && el('option', { value: '' }, '—'), variants.map((variant, at) => el('option', { value: String(at) }, name(variant, at))));
  const body = el('div.nested');
  const show = () => {
    const field = select.value === '' ? undefined : fieldOf(Number(select.value));
    fill(body, field && !field.hidden && field.node);
    body.hidden = !field || field.hidden === true;
  };
  select.onchange = show;
  show();
  return {
    node: el('div', null, select, body), input: select,
    get: () => (select.value === '' ? undefined : fieldOf(Number(select.value)).get()),
    set(value) {
      const fits = (variant) => (isObject(value)
        ? (variant.required ?? Object.keys(variant.properties ?? {})).every((member) => member in value
          && (variant.properties?.[member]?.const === undefined || variant.properties[member].const === value[member]))
        : typeOf(variant) === (Array.isArray(value) ? 'array' : typeof value));
      const at = value === undefined ? -1 : variants.findIndex(fits);
      select.value = at >= 0 ? String(at) : context.required ? '0' : '';
      show();
      if (at >= 0) fieldOf(at).set(value);
    },
  };
}

function arrayField(schema, context) {
  const items = isObject(schema.items) ? schema.items : {};
  const options = choices(resolve(items, context.root));
  if (options && schema.uniqueItems !== false && options.length <= 20) return multipleField(schema, options, context);
  const rows = [];
  const list = el('div.entries');
  const insert = (value) => {
    const field = makeField(items, { ...context, complete: undefined, required: true, depth: context.depth + 1 });
    const remove = el('button.quiet.icon', { type: 'button', 'aria-label': 'remove this entry' }, '×');
    const row = { field, node: el('div.entry', null, field.node, remove) };
    const target = field.input ?? field.node.querySelector('input, textarea, select');
    target?.setAttribute('aria-label', `entry ${rows.length + 1} of ${context.name ?? 'the list'}`);
    remove.onclick = () => { rows.splice(rows.indexOf(row), 1); row.node.remove(); append.focus(); };
    if (value !== undefined) field.set(value);
    rows.push(row);
    list.append(row.node);
    return target;
  };
  const append = el('button.quiet', { type: 'button' }, '+ add');
  append.onclick = () => insert()?.focus();
  if (Array.isArray(schema.default)) schema.default.forEach(insert);
  else for (let entry = 0; context.required && entry < Math.min(schema.minItems ?? 0, 5); entry += 1) insert();
  return {
    node: el('div.list', { role: 'group' }, list, append), group: true,
    get: () => (rows.length || context.required ? rows.map(({ field }, at) => within(`entry ${at + 1}`, () => field.get())) : undefined),
    set(value) { rows.length = 0; list.replaceChildren(); if (Array.isArray(value)) value.slice(0, 500).forEach(insert); },
  };
}

function multipleField(schema, options, { required }) {
  const boxes = options.map(() => el('input', { type: 'checkbox' }));
  const set = (values) => options.forEach(({ value }, at) => {
    boxes[at].checked = Array.isArray(values) && values.some((one) => stringify(one) === stringify(value));
  });
  set(schema.default);
  return {
    node: el('div.checks', { role: 'group' }, options.map(({ title }, at) => el('label.check', null, boxes[at], title))), group: true, set,
    get() {
      const chosen = options.filter((_, at) => boxes[at].checked).map(({ value }) => value);
      return chosen.length || required ? chosen : undefined;
    },
  };
}

/** Any value, written as JSON. */
export function rawField(schema, { required, initial } = {}) {
  const input = el('textarea.code', { rows: 3, spellcheck: false, placeholder: 'JSON' });
  const start = schema.default ?? initial;
  if (start !== undefined) input.value = stringify(start, 2);
  return {
    node: input, input,
    get() {
      if (input.value.trim() === '') {
        if (required) throw new Error('JSON is required');
        return undefined;
      }
      return parse(input.value);
    },
    set(value) { input.value = value === undefined ? '' : stringify(value, 2); },
  };
}
