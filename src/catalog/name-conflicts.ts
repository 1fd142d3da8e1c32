// Messages about tools and prompts that did not get the name they asked for: which are not offered,
// which have another name, which can be confused with another, and what to do about it. No tool is
// dropped silently: `status` and `doctor` show these messages.

import type { Displacement, NameRefusal, Names } from './naming.ts';

export interface NameConflict {
  readonly server: string;
  /** Not offered at all. */
  readonly isRefused: boolean;
  readonly text: string;
  readonly remedy: string;
}

export type NamedKind = 'tool' | 'prompt';

export function conflictsOf(names: Names, kind: NamedKind): readonly NameConflict[] {
  return [
    ...names.refused.map((refusal) => refused(refusal, kind)),
    ...names.displaced.map((displacement) => displaced(displacement, kind)),
    ...names.alike.map((displacement) => alike(displacement, kind)),
  ];
}

const shownConflicts = 3;

/** Several in one line; null if there is none. */
export function conflictLine(conflicts: readonly NameConflict[]): string | null {
  if (conflicts.length === 0) return null;
  const texts = conflicts.slice(0, shownConflicts).map(({ text }) => text);
  const more = conflicts.length - texts.length;
  return [...texts, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

function refused(refusal: NameRefusal, kind: NamedKind): NameConflict {
  const { server, name, wanted, owner } = refusal;
  const why =
    refusal.kind === 'collision'
      ? `the name ${quoted(wanted)} belongs to ${ownerText(owner)}`
      : `the name ${quoted(wanted)} looks like that of ${ownerText(owner)}`;
  return {
    server,
    isRefused: true,
    text: `${kind} ${quoted(name)} is not offered: ${why}`,
    remedy: remedyOf(refusal, kind),
  };
}

function displaced(displacement: Displacement, kind: NamedKind): NameConflict {
  const { server, name, wanted, owner, exposed } = displacement;
  return {
    server,
    isRefused: false,
    text: `${kind} ${quoted(name)} is offered as ${quoted(exposed)}: the name ${quoted(wanted)} belongs to ${ownerText(owner)}`,
    remedy: remedyOf(displacement, kind),
  };
}

function alike(displacement: Displacement, kind: NamedKind): NameConflict {
  const { server, exposed, owner } = displacement;
  return {
    server,
    isRefused: false,
    text: `${kind} ${quoted(exposed)} can be confused with that of ${ownerText(owner)}`,
    remedy: remedyOf(displacement, kind),
  };
}

/** The names come from servers: as JSON they stay on one line and inside their quotes. */
function quoted(name: string): string {
  return JSON.stringify(name);
}

function ownerText(owner: NameRefusal['owner']): string {
  return owner === null ? 'Holdfast itself' : owner.server;
}

function remedyOf({ server, name }: NameRefusal, kind: NamedKind): string {
  if (kind === 'prompt') return 'set "naming" to "prefix", or rename one of the servers';
  return `give it another name in the config: mcpServers.${server}.tools[${quoted(name)}].as`;
}
