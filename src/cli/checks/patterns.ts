// Checks of the patterns of roles: each should match something. A pattern in "deny" that looks misspelt leaves open
// what it should close, which is a problem; one in "allow" only gives less. A pattern is judged by all lists that are
// known, those for every class of clients included, and not where a list that it is about is not known.

import { nearestWord } from '../../config/nearest-word.ts';
import type { Config } from '../../config/schema.ts';
import { Pattern, patternKinds } from '../../policy/roles/pattern.ts';
import { type AliasConfig, ToolAliases } from '../../policy/roles/tool-aliases.ts';
import { type KnownThing, type KnownThings, kindOf } from '../known-things.ts';
import { type Check, finding, note } from './check.ts';

/** `servers`: the names of all servers of the config, disabled ones included. */
export function checkPatterns(
  { roles, mcpServers = {} }: Pick<Config, 'roles'> & AliasConfig,
  servers: readonly string[],
  known: KnownThings,
): readonly Check[] {
  const aliases = new ToolAliases({ mcpServers });
  return Object.entries(roles).flatMap(([role, { allow, deny }]): Check[] => {
    const checks = [
      ...allow.map((text) => checkPattern({ role, key: 'allow', text, aliases }, servers, known)),
      ...deny.map((text) => checkPattern({ role, key: 'deny', text, aliases }, servers, known)),
    ];
    const found = checks.filter((check) => check !== undefined);
    if (allow.length > 0) return found;
    const told = `the role '${role}' may use nothing: its "allow" is empty`;
    return [...found, note('roles', told)];
  });
}

interface PlacedPattern {
  readonly role: string;
  readonly key: 'allow' | 'deny';
  readonly text: string;
  readonly aliases: ToolAliases;
}

function checkPattern(
  { role, key, text, aliases }: PlacedPattern,
  servers: readonly string[],
  known: KnownThings,
): Check | undefined {
  const pattern = new Pattern(text, aliases);
  const named = [...servers, ...known.things.map(({ server }) => server)];
  const isServer = named.some((server) =>
    patternKinds.some((kind) => pattern.touches(kind, server)),
  );
  if (isServer && mayMatch(pattern, known)) return undefined;
  const place = `"${text}" in "${key}" of the role '${role}'`;
  const near = isServer ? nearThing(text, known) : nearServer(pattern, servers);
  const told = isServer
    ? `${place} matches nothing that the servers have listed so far`
    : `${place} matches nothing: there is no such server`;
  const meant = near === undefined ? '' : `did you mean "${near}"?`;
  if (key === 'allow') return note('roles', meant === '' ? told : `${told}; ${meant}`);
  // It may be a precaution, or a tool that is listed only to clients with certain capabilities.
  if (isServer && near === undefined) {
    return note('roles', `${told}; if it is misspelt, it denies nothing`);
  }
  const remedy = `${meant || 'correct it, or remove it;'} What the role may use: holdfast role ${role}`;
  return finding('roles', `${told}, so it denies nothing`, remedy);
}

function mayMatch(pattern: Pattern, { things, unknown }: KnownThings): boolean {
  const isOpen = unknown.some(({ server, lists }) =>
    lists.some((list) => pattern.touches(kindOf({ list }), server)),
  );
  return (
    isOpen ||
    things.some(
      (thing) =>
        pattern.matches(kindOf(thing), thing.server, thing.name) || mayExpand(pattern, thing),
    )
  );
}

/** Whether an address of this template can be one that the pattern matches, as far as both are literal. */
function mayExpand(pattern: Pattern, { list, server, name }: KnownThing): boolean {
  if (list !== 'resourceTemplates' || !pattern.touches('resource', server)) return false;
  const wanted = pattern.text.slice(pattern.text.indexOf('/') + 1).split('*', 1)[0] ?? '';
  const literal = name.split('{', 1)[0] ?? '';
  return wanted.startsWith(literal) || literal.startsWith(wanted);
}

function nearServer({ text, onlyServer }: Pattern, servers: readonly string[]): string | undefined {
  const near = onlyServer === undefined ? undefined : nearestWord(onlyServer, servers);
  return near && text.replace(onlyServer ?? '', near);
}

function nearThing(text: string, { things }: KnownThings): string | undefined {
  return nearestWord(text, new Set(things.map(patternOf)));
}

/** The pattern that matches just this. */
function patternOf(thing: KnownThing): string {
  const { server, name } = thing;
  const kind = kindOf(thing);
  return kind === 'tool' ? `${server}/${name}` : `${kind}:${server}/${name}`;
}
