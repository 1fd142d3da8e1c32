// Messages about mistakes that the schema finds: the place, the value found and the value expected;
// for an unknown key the most similar known one. It decides by the issue's code, never by its
// message. Values are shown only where they cannot be secrets: never in env, headers, args or url.

import * as z from 'zod';
import { ownValue } from '../kernel/own-value.ts';
import type { Path, Problem } from './document.ts';
import { pathText, shownWord } from './message-text.ts';
import { nearestWord } from './nearest-word.ts';
import { roleNameRule } from './role-schema.ts';
import { configSchema } from './schema.ts';
import { serverNameRule } from './server-name.ts';

/**
 * Checks `input` against the schema. Values in messages are taken from `written`, the same document
 * before variables were replaced, so that the value of a variable is never shown.
 */
export function problemsOf(input: unknown, written: unknown): Problem[] {
  const parsed = configSchema.safeParse(input);
  if (parsed.success) return [];
  return parsed.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => unknownKey(stepsOf(issue.path), key))
      : [invalid(issue, written)],
  );
}

function unknownKey(path: Path, key: string): Problem {
  const known = keysAt(path);
  const where = path.length === 0 ? 'at the top level' : `in ${pathText(path)}`;
  const suggestion = nearestWord(key, known);
  let text = `unknown key ${shownWord(key)} ${where}`;
  // A key of the other kind of server: a remote server has no process, a process no address.
  if (known.includes(key))
    text = `the key ${shownWord(key)} ${where} has no effect for this type of server`;
  else if (suggestion !== undefined) text += `: did you mean "${suggestion}"?`;
  else text += `: known here are ${known.join(', ')}`;
  return { kind: 'unknown-key', path: [...path, key], text };
}

function invalid(issue: z.core.$ZodIssue, written: unknown): Problem {
  const path = stepsOf(issue.path);
  return { kind: 'invalid', path, text: wording(issue, path, written) };
}

function wording(issue: z.core.$ZodIssue, path: Path, written: unknown): string {
  if (issue.code === 'invalid_key') return keyWording(path);
  const place = path.length === 0 ? 'the config' : pathText(path);
  // The messages of `custom` issues are our own, written in the schema.
  if (issue.code === 'custom') return `${place} ${issue.message}`;
  const value = valueAt(written, path);
  if (value === undefined) return missingWording(path, place);
  return `${place} is ${shown(value, path)}: expected ${expected(issue)}`;
}

function keyWording(path: Path): string {
  const name = shownWord(String(path.at(-1)));
  if (path.length === 2 && path[0] === 'mcpServers') {
    return `${name} cannot be the name of a server: ${serverNameRule}`;
  }
  if (path.length === 2 && path[0] === 'roles') {
    return `${name} cannot be the name of a role: use ${roleNameRule}`;
  }
  return `${name} cannot be a name in ${pathText(path.slice(0, -1))}`;
}

function missingWording(path: Path, place: string): string {
  const owner = pathText(path.slice(0, -1));
  if (path.at(-1) === 'command') {
    return `${owner} needs a "command" (a program to run) or a "url" (an address to connect to)`;
  }
  if (path.at(-1) === 'url') return `${owner} needs a "url" (an address to connect to)`;
  return `${place} is missing`;
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'text in double quotes',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a whole number',
  object: 'an object { … }',
  record: 'an object { … }',
  array: 'a list [ … ]',
};

function expected(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return ownValue(typeWords, issue.expected) ?? issue.expected;
    case 'too_small':
      return issue.origin === 'string' ? 'at least one character' : `at least ${issue.minimum}`;
    case 'too_big':
      return `at most ${issue.maximum}`;
    case 'invalid_value':
      return issue.values.map((value) => JSON.stringify(value)).join(' or ');
    case 'invalid_union':
      return '"stdio", "http" or "sse"';
    case 'invalid_format':
      return formatOf(issue.path);
    default:
      return 'something else';
  }
}

function formatOf(path: readonly PropertyKey[]): string {
  if (path.includes('listen')) return '"HOST:PORT", such as "127.0.0.1:4100"';
  if (path.includes('inheritEnv')) return '"NAME" or "PREFIX_*"';
  if (path.includes('allowEnv')) return 'the whole name of a variable';
  if (path[0] === 'broker') {
    return path[1] === 'url'
      ? '"wss://HOST:PORT", "nats://HOST:PORT" or, on this machine, "ws://127.0.0.1:PORT"'
      : '1 to 64 lower-case letters, digits, "_", "." and "-", beginning with a letter or a digit';
  }
  return 'letters, digits, "_", "." and "-"';
}

const secretive: ReadonlySet<string | number> = new Set(['env', 'headers', 'args', 'url']);

function shown(value: unknown, path: Path): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string' && typeof value !== 'number') return String(value);
  if (path[0] === 'mcpServers' && path.slice(2).some((step) => secretive.has(step))) {
    return typeof value === 'string' ? 'a text' : 'a number';
  }
  // It may have a password in it.
  if (path[0] === 'broker' && path[1] === 'url') return 'another text';
  return typeof value === 'string' ? shownWord(value) : JSON.stringify(value);
}

function stepsOf(path: readonly PropertyKey[]): Path {
  return path.map((step) => (typeof step === 'number' ? step : String(step)));
}

function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Computed when the first key is unknown: most files never need it. */
let jsonSchema: JsonSchema | undefined;

/** The keys that the schema has at a place, for either type of server. */
function keysAt(path: Path): string[] {
  jsonSchema ??= z.toJSONSchema(configSchema, { io: 'input' });
  let places: JsonSchema[] = [jsonSchema];
  for (const step of path) {
    places = places.flatMap(branches).flatMap(({ properties, additionalProperties }) => {
      const next = (properties && ownValue(properties, String(step))) ?? additionalProperties;
      return typeof next === 'object' ? [next] : [];
    });
  }
  const keys = places.flatMap(branches).flatMap(({ properties }) => Object.keys(properties ?? {}));
  return [...new Set(keys)].filter((key) => key !== '$schema');
}

function branches(schema: JsonSchema): JsonSchema[] {
  const options = schema.oneOf ?? schema.anyOf ?? [schema];
  return options.filter((option) => typeof option === 'object');
}
