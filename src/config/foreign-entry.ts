// Converts one server's entry from another client's keys to ours. Only supported keys are
// converted; the schema judges the remaining keys. The keys were collected from the files of
// Claude, Cursor, VS Code, Windsurf, Cline, Roo and Gemini.

import { ownValue } from '../kernel/own-value.ts';
import { type Entries, entriesOf } from './loaded.ts';

const typeNames: Readonly<Record<string, string>> = {
  local: 'stdio',
  remote: 'http',
  'streamable-http': 'http',
  streamable_http: 'http',
  streamablehttp: 'http',
};

/** Below this a `timeout` must be in seconds: no client limits calls to less than a second. */
const leastTimeoutMs = 1_000;

/** The converted entry. `envFile` stays: the caller reads it. */
export function translatedEntry(entry: Entries): Record<string, unknown> {
  const { transport, serverUrl, httpUrl, timeout, enabled, disabledTools, excludeTools, ...rest } =
    entry;
  const said: Record<string, unknown> = { ...rest };
  const url = rest['url'] ?? httpUrl ?? serverUrl;
  if (url !== undefined) said['url'] = url;
  const type = rest['type'] ?? transport;
  if (type !== undefined) said['type'] = typeof type === 'string' ? ourType(type) : type;
  if (typeof timeout === 'number' && timeout > 0) {
    said['callTimeoutMs'] ??= Math.round(timeout < leastTimeoutMs ? timeout * 1_000 : timeout);
  }
  if (enabled === false) said['disabled'] = true;
  if (rest['env'] !== undefined) said['env'] = plainEnv(rest['env']);
  const hidden = [disabledTools, excludeTools].flat().filter((name) => typeof name === 'string');
  if (hidden.length > 0) said['tools'] = withHidden(rest['tools'], hidden);
  return said;
}

/** The defaults of VS Code's `inputs`, by id: the values that its user gets by pressing enter. */
export function inputDefaults(inputs: unknown): Map<string, string> {
  const defaults = new Map<string, string>();
  for (const input of Array.isArray(inputs) ? inputs : []) {
    const { id, default: text } = entriesOf(input);
    if (typeof id === 'string' && typeof text === 'string') defaults.set(id, text);
  }
  return defaults;
}

function ourType(type: string): string {
  const name = type.toLowerCase();
  return ownValue(typeNames, name) ?? name;
}

/** VS Code allows numbers, and null for "not set". */
function plainEnv(env: unknown): unknown {
  const pairs = Object.entries(entriesOf(env)).filter(([, value]) => value !== null);
  return Object.fromEntries(
    pairs.map(([name, value]) => [name, typeof value === 'number' ? String(value) : value]),
  );
}

function withHidden(tools: unknown, names: readonly string[]): Entries {
  const hidden = names.map((name) => [name, { hidden: true }] as const);
  return { ...Object.fromEntries(hidden), ...entriesOf(tools) };
}
