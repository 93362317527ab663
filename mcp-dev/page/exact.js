// JSON in which numbers stay as they were written, however long they are.

/** Parses JSON. An integer that a Number cannot hold becomes a raw JSON value, which `stringify` writes as it was. */
export function parse(text) {
  return JSON.parse(text, (key, value, context) =>
    typeof value === 'number' && context?.source !== undefined ? number(context.source) : value);
}

/** Writes JSON, with an indent if one is given. */
export const stringify = (value, indent) => JSON.stringify(value, null, indent);

/** Returns the number that a text is, exactly. */
export function number(source) {
  const value = Number(source);
  const exact = Number.isSafeInteger(value) || /[.eE]/.test(source) || !JSON.rawJSON;
  return exact ? value : JSON.rawJSON(source);
}

export const isRaw = (value) => JSON.isRawJSON?.(value) ?? false;

export const isObject = (value) =>
  value !== null && typeof value === 'object' && !Array.isArray(value) && !isRaw(value);
