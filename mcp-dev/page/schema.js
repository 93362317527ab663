// Reads JSON Schema as far as forms need it.

import { isObject } from './exact.js';

/** Follows references within the schema, and merges `allOf` and nullable alternatives, in at most 1,000 steps. */
export function resolve(schema, root, budget = { left: 1_000 }) {
  budget.left -= 1;
  if (!isObject(schema) || budget.left < 0) return {};
  if (typeof schema.$ref === 'string') {
    const { $ref, ...rest } = schema;
    return resolve({ ...find(root, $ref), ...rest }, root, budget);
  }
  if (Array.isArray(schema.allOf)) {
    const { allOf, ...rest } = schema;
    return [...allOf.map((part) => resolve(part, root, budget)), rest].reduce(merge, {});
  }
  for (const word of ['anyOf', 'oneOf']) {
    const parts = schema[word];
    if (!Array.isArray(parts)) continue;
    const others = parts.filter((part) => part?.type !== 'null');
    if (others.length === 1 && parts.length > 1) {
      const { [word]: _, ...rest } = schema;
      return { ...resolve(others[0], root, budget), ...rest, nullable: true };
    }
  }
  return schema;
}

function merge(one, other) {
  const merged = { ...one, ...other };
  if (one.properties && other.properties) merged.properties = { ...one.properties, ...other.properties };
  if (one.required && other.required) merged.required = [...new Set([...one.required, ...other.required])];
  return merged;
}

function find(root, reference) {
  if (!reference.startsWith('#')) return {};
  let found = root;
  for (const part of reference.slice(1).split('/').filter(Boolean)) {
    let name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    try { name = decodeURIComponent(name); } catch { /* not encoded */ }
    found = found && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return isObject(found) ? found : {};
}

/** Returns the only type of a schema without null, if it has only one. */
export function typeOf(schema) {
  const types = [schema.type].flat().filter((type) => type && type !== 'null');
  if (types.length === 1) return types[0];
  if (!types.length && isObject(schema.properties)) return 'object';
  return undefined;
}

/** Returns the values to choose from, with their titles, if the schema has such a list. */
export function choices(schema) {
  if (Array.isArray(schema.enum)) {
    const titles = Array.isArray(schema.enumNames) ? schema.enumNames : [];
    return schema.enum.filter((value) => value !== null).map((value, at) => ({ value, title: titles[at] ?? show(value) }));
  }
  const parts = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(parts) && parts.length && parts.every((part) => isObject(part) && 'const' in part)) {
    return parts.map((part) => ({ value: part.const, title: part.title ?? show(part.const), description: part.description }));
  }
  return undefined;
}

const show = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

/** Returns the bounds of a value in a few words. */
export function bounds(schema) {
  const words = [];
  const range = (low, high, unit) => {
    if (low !== undefined && high !== undefined) words.push(low === high ? `${low}${unit}` : `${low} to ${high}${unit}`);
    else if (low !== undefined) words.push(`at least ${low}${unit}`);
    else if (high !== undefined) words.push(`at most ${high}${unit}`);
  };
  const text = (value) => (value === undefined ? undefined : value?.rawJSON ?? value);
  range(text(schema.minimum), text(schema.maximum), '');
  if (schema.exclusiveMinimum !== undefined) words.push(`more than ${text(schema.exclusiveMinimum)}`);
  if (schema.exclusiveMaximum !== undefined) words.push(`less than ${text(schema.exclusiveMaximum)}`);
  if (schema.multipleOf !== undefined) words.push(`a multiple of ${text(schema.multipleOf)}`);
  range(schema.minLength, schema.maxLength, ' characters');
  range(schema.minItems, schema.maxItems, ' entries');
  if (schema.pattern) words.push(`matches ${schema.pattern}`);
  if (schema.format) words.push(schema.format);
  return words.join(', ');
}
