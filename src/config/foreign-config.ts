// Reads a config file that was written for another client: the `mcpServers` map of Claude, Cursor
// and others, or VS Code's `servers`. It was not written for Holdfast, so only two things are
// errors: a file without servers, and a key given twice, which is ambiguous. Unsupported keys give
// one notice; a server with an invalid entry is disabled with the cause; names that are not allowed
// here are changed, with a notice.

import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { Fault } from '../kernel/fault.ts';
import { isRecord } from '../kernel/json-values.ts';
import { ownValue } from '../kernel/own-value.ts';
import type { Document, Path, Problem } from './document.ts';
import { inputDefaults, translatedEntry } from './foreign-entry.ts';
import { interpolate, type Variables } from './interpolate.ts';
import {
  type Entries,
  entriesOf,
  finishedConfig,
  type LoadedConfig,
  switchedOff,
} from './loaded.ts';
import { firstFew, pathText, shownWord } from './message-text.ts';
import { problemsOf } from './problems.ts';
import { refusedVariables } from './refused-variables.ts';
import { noteVariables, type UsedVariable } from './secrets.ts';
import { isReserved, isServerName, reservedServerName, safeNameFrom } from './server-name.ts';

/** The text of a file, or the code of the error when it was read. */
export type ReadText = (
  file: string,
) =>
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'failed'; readonly code: string };

export function foreignConfig(
  document: Document,
  file: string,
  variables: Variables,
  readText: ReadText,
): LoadedConfig {
  const { $schema: _, ...whole } = entriesOf(document.value);
  const key = ['mcpServers', 'servers'].find((name) => isRecord(ownValue(whole, name)));
  if (key === undefined) {
    throw new Fault(
      'invalid_request',
      `${file} has no servers: expected a map "mcpServers" or "servers"`,
    );
  }
  refuseAmbiguity(document, file, key);
  const reading: Reading = {
    key,
    file,
    disabled: new Map(),
    switchedOff: new Set(),
    notices: [],
    used: new Map(),
    names: new Map(),
    written: new Map(),
  };
  const inputs = inputDefaults(whole['inputs']);
  const servers: Record<string, unknown> = Object.create(null);
  for (const [name, entry] of namedEntries(entriesOf(ownValue(whole, key)), reading)) {
    const complete = completed(name, entry, { ...variables, inputs }, reading, readText);
    if (complete !== undefined) servers[name] = complete;
  }
  const { inputs: _inputs, servers: _servers, ...settings } = whole;
  const input = sifted({ ...settings, mcpServers: servers }, reading);
  const config = finishedConfig(input, variables.folder, reading.disabled);
  for (const [name, server] of Object.entries(config.mcpServers)) {
    noteVariables(server, reading.used.get(name) ?? []);
  }
  const { disabled, switchedOff: off, notices } = reading;
  return { file, config, disabled, switchedOff: off, notices };
}

/** What is collected while one file is read. */
interface Reading {
  readonly key: string;
  readonly file: string;
  readonly disabled: Map<string, string>;
  readonly switchedOff: Set<string>;
  readonly notices: string[];
  /** The values of environment variables in each entry, by our names. */
  readonly used: Map<string, readonly UsedVariable[]>;
  /** From our names to the names in the file. */
  readonly names: Map<string, string>;
  /** The converted entries before variables were replaced: messages may show these. */
  readonly written: Map<string, unknown>;
}

function refuseAmbiguity(document: Document, file: string, key: string): void {
  const problems = document.problems.filter(({ path }) => path[0] === key);
  if (problems.length === 0) return;
  throw new Fault(
    'invalid_request',
    firstFew(problems, '\n', ({ path, text }) => `${file}:${document.placeOf(path)}: ${text}`),
  );
}

/** The entries under names that are allowed here. */
function* namedEntries(entries: Entries, reading: Reading): Generator<[string, unknown]> {
  const legal = Object.keys(entries).filter(isServerName);
  const taken = new Set([reservedServerName, ...legal.map((name) => name.toLowerCase())]);
  const used = new Set<string>();
  for (const [original, entry] of Object.entries(entries)) {
    if (isReserved(original)) {
      // Most likely the entry that points that client at Holdfast; running it would be a loop.
      reading.disabled.set(
        original,
        `the name "${original}" is reserved for Holdfast: rename the server`,
      );
      continue;
    }
    const fits = isServerName(original) && !used.has(original.toLowerCase());
    const name = fits ? original : safeNameFrom(original, taken);
    for (const set of [taken, used]) set.add(name.toLowerCase());
    reading.names.set(name, original);
    if (!fits)
      reading.notices.push(
        `${reading.file}: the server ${shownWord(original)} is called "${name}" here`,
      );
    yield [name, entry];
  }
}

/** The converted entry with all variables replaced; undefined when that disables it. */
function completed(
  name: string,
  entry: unknown,
  variables: Variables,
  reading: Reading,
  readText: ReadText,
): unknown {
  reading.written.set(name, entry);
  if (!isRecord(entry)) return entry;
  const path = [reading.key, reading.names.get(name) ?? name];
  const translated = translatedEntry(entriesOf(entry));
  reading.written.set(name, translated);
  if (translated['disabled'] === true) {
    reading.disabled.set(name, switchedOff(path));
    reading.switchedOff.add(name);
    return undefined;
  }
  const { value, gaps, used } = interpolate(translated, path, variables);
  reading.used.set(name, used);
  const { envFile, ...rest } = entriesOf(value);
  const said: Record<string, unknown> = rest;
  const causes = gaps.map(({ cause }) => cause);
  if (causes.length === 0 && typeof envFile === 'string') {
    const read = readText(resolve(variables.folder, envFile));
    // As it is written in the file: the value of a variable must not appear in messages.
    const written = shownWord(String(translated['envFile']));
    const place = pathText([...path, 'envFile']);
    if (read.kind === 'text') said['env'] = { ...parseEnv(read.text), ...entriesOf(said['env']) };
    else causes.push(`${place} names ${written}, which cannot be read (${read.code})`);
  }
  for (const { cause } of refusedVariables(said, path)) causes.push(cause);
  if (causes.length === 0) return said;
  reading.disabled.set(name, firstFew(causes, '; '));
  return undefined;
}

/** The input without what the schema rejects: it gets smaller with every round. */
function sifted(input: Record<string, unknown>, reading: Reading): Entries {
  const ignored: Path[] = [];
  let rest: Record<string, unknown> = input;
  const check = () =>
    problemsOf(rest, { ...rest, mcpServers: Object.fromEntries(reading.written) });
  for (let found = check(); found.length > 0; found = check()) {
    const unknown = found.filter(({ kind }) => kind === 'unknown-key');
    const drop = unknown.length > 0 ? unknown : found.map((problem) => setAside(problem, reading));
    for (const { path } of unknown) ignored.push(inFile(path, reading));
    rest = entriesOf(
      without(
        rest,
        drop.map(({ path }) => path),
      ),
    );
  }
  if (ignored.length > 0) {
    const places = firstFew(ignored, ', ', pathText);
    reading.notices.push(`${reading.file}: ignored unsupported keys: ${places}`);
  }
  return rest;
}

/** A server with an invalid entry is disabled, an invalid setting is ignored. */
function setAside({ path, text }: Problem, reading: Reading): { readonly path: Path } {
  const [section, name] = path;
  if (section === 'mcpServers' && typeof name === 'string') {
    reading.disabled.set(name, text);
    return { path: [section, name] };
  }
  reading.notices.push(`${reading.file}: ${text}; it is ignored`);
  return { path: path.slice(0, 1) };
}

function inFile(path: Path, { key, names }: Reading): Path {
  const [section, name, ...rest] = path;
  if (section !== 'mcpServers' || typeof name !== 'string') return path;
  return [key, names.get(name) ?? name, ...rest];
}

/** The value without what is at these places, all removed at once. */
function without(value: unknown, paths: readonly Path[]): unknown {
  if (paths.length === 0 || !isRecord(value)) return value;
  const below = new Map<string, Path[]>();
  for (const [step, ...rest] of paths) {
    const known = below.get(String(step));
    if (known === undefined) below.set(String(step), [rest]);
    else known.push(rest);
  }
  const kept = Object.entries(entriesOf(value)).flatMap(([key, member]) => {
    const inner = below.get(key) ?? [];
    return inner.some((path) => path.length === 0) ? [] : [[key, without(member, inner)] as const];
  });
  return Object.fromEntries(kept);
}
