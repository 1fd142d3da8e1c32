// Is what a client reads through the gateway what it reads from each server alone? Every item of
// every server has to be there, in the server's order, with every character as the server wrote it,
// but for what docs/envelope.md lists: the name of a tool or prompt begins with the server's, the
// later of two equal addresses is changed, and so is what a tool says about tasks. Nothing else may be
// there but the gateway's own tools. Pure: readings in, lines about differences out.

import type { Era } from './peers/peer.ts';
import { membersOf, withMember, withoutMember } from './raw-json.ts';
import { type ListKind, listKinds, type Reading } from './reading.ts';

/** The gateway gives each server this much room; a longer text is cut there (README, docs). */
const instructionsShare = 4_000;

const keys = {
  tools: 'name',
  prompts: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
} as const satisfies Readonly<Record<ListKind, string>>;

/** Differences by server; those that belong to none are under the empty name. */
export type Differences = ReadonlyMap<string, readonly string[]>;

export function compare(
  bare: ReadonlyMap<string, Reading>,
  through: Reading,
  era: Era,
): Differences {
  const found = new Map<string, string[]>();
  const note = (server: string, line: string) =>
    found.set(server, [...(found.get(server) ?? []), line]);
  for (const kind of listKinds) compareList(kind, bare, through, era, note);
  for (const [server, { instructions }] of bare) {
    const line = compareInstructions(server, instructions, through.instructions);
    if (line !== undefined) note(server, line);
  }
  return found;
}

function compareList(
  kind: ListKind,
  bare: ReadonlyMap<string, Reading>,
  through: Reading,
  era: Era,
  note: (server: string, line: string) => void,
): void {
  const { items, refusal } = through.lists[kind];
  if (refusal !== undefined) note('', `${kind}: ${refusal}`);
  const left = new Map(items.map((item, place) => [place, item]));
  const taken = new Set<string>();
  for (const [server, reading] of bare) {
    let last = -1;
    for (const item of reading.lists[kind].items) {
      const wanted = asListed(server, kind, era, item, taken);
      const place = [...left].find(([, text]) => text === wanted)?.[0];
      if (place === undefined) {
        note(server, missing(kind, wanted, left));
        continue;
      }
      if (place < last) note(server, `${kind}: ${nameOf(kind, item)} is not where it was`);
      last = place;
      left.delete(place);
    }
  }
  for (const item of left.values()) {
    const name = nameOf(kind, item);
    const [server] = [...bare.keys()].filter((prefix) => name.startsWith(`${prefix}__`));
    if (name.startsWith('holdfast__')) continue;
    note(server ?? '', `${kind}: ${name} is listed, and bare it is not`);
  }
}

/** An item as the gateway should list it. */
function asListed(
  server: string,
  kind: ListKind,
  era: Era,
  item: string,
  taken: Set<string>,
): string {
  const key = keys[kind];
  const text = membersOf(item).get(key) ?? '""';
  if (key === 'name') {
    const named = withMember(item, key, `"${server}__${text.slice(1)}`);
    return kind === 'tools' ? withTaskSupport(named, era) : named;
  }
  const isTaken = taken.has(text);
  taken.add(text);
  return isTaken ? withMember(item, key, `"holdfast:${server}:${text.slice(1)}`) : item;
}

/** The modern era has no such word; for a legacy client the gateway follows a task by itself. */
function withTaskSupport(tool: string, era: Era): string {
  if (era === 'modern') return withoutMember(tool, 'execution');
  const execution = membersOf(tool).get('execution');
  if (execution === undefined) return tool;
  const isRequired = membersOf(execution).get('taskSupport') === '"required"';
  if (!isRequired) return tool;
  return withMember(tool, 'execution', withMember(execution, 'taskSupport', '"optional"'));
}

/** Says how an item of the same name differs, if there is one. */
function missing(kind: ListKind, wanted: string, left: Map<number, string>): string {
  const name = nameOf(kind, wanted);
  for (const [place, other] of left) {
    if (nameOf(kind, other) !== name) continue;
    left.delete(place);
    const at = [...wanted].findIndex((character, index) => character !== [...other][index]);
    const from = Math.max(0, at - 20);
    const show = (text: string) => text.slice(from, from + 80);
    return `${kind}: ${name} differs at ${at}: ${show(wanted)} is ${show(other)}`;
  }
  return `${kind}: ${name} is missing`;
}

function nameOf(kind: ListKind, item: string): string {
  return String(JSON.parse(membersOf(item).get(keys[kind]) ?? '"?"'));
}

function compareInstructions(
  server: string,
  bare: string | undefined,
  through: string | undefined,
): string | undefined {
  const text = bare?.trim().slice(0, instructionsShare);
  if (!text) return undefined;
  if (through?.includes(`## ${server}\n\n${text}`)) return undefined;
  return through?.includes(`## ${server}\n`) ? 'instructions: differ' : 'instructions: missing';
}
