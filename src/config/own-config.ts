// Reads a configuration written for Holdfast: a file called holdfast.json, or an object from a
// program. It is strict: everything unknown, misplaced or of the wrong type is an error, and all
// errors are reported together, one line each. The exception is a variable that is not set: it
// disables only its own server.

import { Fault } from '../kernel/fault.ts';
import { natsPlaceIn } from '../nats/nats-address.ts';
import type { Document, Problem } from './document.ts';
import { type Gap, type Interpolated, interpolate, type Variables } from './interpolate.ts';
import {
  type Entries,
  entriesOf,
  finishedConfig,
  type LoadedConfig,
  switchedOff,
} from './loaded.ts';
import { firstFew } from './message-text.ts';
import { problemsOf } from './problems.ts';
import { refusedVariables } from './refused-variables.ts';
import { noteVariables } from './secrets.ts';

export function ownConfig(
  document: Document,
  file: string | null,
  variables: Variables,
): LoadedConfig {
  // A program that gives its config as an object can read files itself.
  const forms = { ...variables, hasLateForms: file !== null };
  const { input, gaps, used } = interpolated(document.value, forms);
  const troubled = new Set([...document.problems, ...gaps].map(({ path }) => JSON.stringify(path)));
  const problems = [
    ...document.problems,
    // Without its store a gateway must not start.
    ...gaps.filter(({ path }) => path[0] === 'store').map(gapProblem),
    // Where a variable is missing, the text that contains it cannot be judged.
    ...problemsOf(input, document.value).filter(({ path }) => !troubled.has(JSON.stringify(path))),
  ];
  if (problems.length > 0) throw refusal(problems, document, file);
  const checked = entriesOf(input);
  const disabled = disabledServers(checked, [...gaps, ...refused(checked)]);
  const config = finishedConfig(checked, variables.folder, disabled);
  for (const [name, server] of Object.entries(config.mcpServers)) {
    noteVariables(
      server,
      used.filter(({ path }) => path[1] === name),
    );
  }
  const off = Object.entries(entriesOf(checked['mcpServers']))
    .filter(([, entry]) => isSwitchedOff(entry))
    .map(([name]) => name);
  return { file, config, disabled, switchedOff: new Set(off), notices: [] };
}

interface Completed {
  readonly input: unknown;
  readonly gaps: Interpolated['gaps'];
  readonly used: Interpolated['used'];
}

/** What an input says of its store, whatever else is wrong with it; the usual one if it says nothing that can be used. */
export function storeIn(value: unknown, variables: Variables): string {
  const { store } = entriesOf(interpolated({ store: entriesOf(value)['store'] }, variables).input);
  return typeof store === 'string' && natsPlaceIn(store) !== undefined ? store : 'sqlite';
}

/** Variables are replaced only in the servers' entries, and in the address of the store. */
function interpolated(value: unknown, variables: Variables): Completed {
  const { mcpServers, store, ...rest } = entriesOf(value);
  if (mcpServers === undefined && typeof store !== 'string') {
    return { input: value, gaps: [], used: [] };
  }
  const servers = interpolate(mcpServers, ['mcpServers'], variables);
  const address = interpolate(store, ['store'], addressVariables(store, variables));
  const input = {
    ...rest,
    ...(mcpServers === undefined ? {} : { mcpServers: servers.value }),
    ...(store === undefined ? {} : { store: address.value }),
  };
  return { input, gaps: [...servers.gaps, ...address.gaps], used: servers.used };
}

/** A part of an address is encoded as one, whatever characters a password has. */
function addressVariables(store: unknown, variables: Variables): Variables {
  const isPart = typeof store === 'string' && store.includes('://');
  if (!isPart || !store.includes('${')) return variables;
  const encoded = Object.entries(variables.env).map(([name, value]) => {
    return [name, value === undefined ? undefined : encodedPart(value)];
  });
  return { ...variables, env: Object.fromEntries(encoded) };
}

/** What is not Unicode cannot be part of an address: it is refused there. */
function encodedPart(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    return '%';
  }
}

function gapProblem({ path, cause }: Gap): Problem {
  return { kind: 'invalid', path, text: cause };
}

function refused(input: Entries): readonly Gap[] {
  return Object.entries(entriesOf(input['mcpServers'])).flatMap(([name, entry]) =>
    refusedVariables(entry, ['mcpServers', name]),
  );
}

function disabledServers(input: Entries, gaps: readonly Gap[]): Map<string, string> {
  const causes = new Map<unknown, string[]>();
  for (const { path, cause } of gaps) {
    const [, name] = path;
    const known = causes.get(name);
    if (known === undefined) causes.set(name, [cause]);
    else known.push(cause);
  }
  const disabled = new Map<string, string>();
  for (const [name, entry] of Object.entries(entriesOf(input['mcpServers']))) {
    const own = causes.get(name);
    if (isSwitchedOff(entry)) disabled.set(name, switchedOff(['mcpServers', name]));
    else if (own !== undefined) disabled.set(name, firstFew(own, '; '));
  }
  return disabled;
}

function isSwitchedOff(entry: unknown): boolean {
  return entriesOf(entry)['disabled'] === true;
}

function refusal(problems: readonly Problem[], document: Document, file: string | null): Fault {
  return new Fault(
    'invalid_request',
    firstFew(problems, '\n', ({ path, text }) =>
      file === null ? text : `${file}:${document.placeOf(path)}: ${text}`,
    ),
  );
}
