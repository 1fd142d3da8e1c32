// What a server lists, as one serving process writes it down for the next: the lists of every class of clients
// and of single clients, whether stored already or not, with how long they hold. In the next process they are
// as if it had read them itself.

import type { Greeting } from '../../upstream/connection.ts';
import { classWith } from '../connections/client-class.ts';
import type { Aim } from '../connections/connection-slot.ts';
import type { ClassCatalogue } from '../lists/catalogues.ts';
import { definitionsOf, textOf } from '../lists/kept-catalogues.ts';
import { type ListKind, listKinds } from '../lists/listings.ts';
import type { Offerings } from '../lists/offerings.ts';
import type { AimState, CatalogueState, ListState } from './host-state.ts';

export function writtenAim({ era, clients, owner, folder }: Aim): AimState {
  const features = [...clients.features];
  return { era, features, owner: owner ?? null, folder: folder ?? null };
}

export function aimFrom({ era, features, owner, folder }: AimState): Aim {
  return {
    era,
    clients: classWith(features),
    ...(owner !== null && { owner }),
    ...(folder !== null && { folder }),
  };
}

export function writtenLists(offerings: Offerings, now: number): CatalogueState[] {
  return offerings.all.map((entry) => {
    const { aim, catalogue, greeting, isRead, isGreeted, readKinds, announced, shownAt } = entry;
    return {
      aim: writtenAim(aim),
      greeting: greeting
        ? {
            ...greeting,
            capabilities: { ...greeting.capabilities },
            instructions: greeting.instructions ?? null,
          }
        : null,
      lists: listKinds.flatMap((kind) => writtenList(entry, kind, now)),
      isOffered: catalogue.offered !== undefined,
      isRead,
      isGreeted,
      readKinds: [...readKinds],
      announced: [...announced],
      shownAgoMs: Number.isFinite(shownAt) ? Math.max(0, now - shownAt) : null,
    };
  });
}

function writtenList({ catalogue }: ClassCatalogue, kind: ListKind, now: number): ListState[] {
  const listing = catalogue.lists.known(kind);
  if (listing === undefined) return [];
  const { definitions, leftOut, scope, holdsUntil } = listing;
  const { isStale, staleAt } = catalogue.lists.age(kind);
  const left = (until: number) => Math.max(0, until - now);
  const staleInMs = Number.isFinite(staleAt) ? left(staleAt) : null;
  const text = textOf(definitions);
  return [{ kind, text, leftOut, scope, holdsMs: left(holdsUntil), isStale, staleInMs }];
}

export function restoreLists(
  offerings: Offerings,
  states: readonly CatalogueState[],
  now: number,
): void {
  // Those of single clients begin as those of their class.
  for (const state of states.toSorted((a, b) => rankOf(a) - rankOf(b))) {
    const entry = offerings.of(aimFrom(state.aim));
    const { greeting, isOffered, isRead, isGreeted, readKinds, announced, shownAgoMs } = state;
    entry.greeting = greeting ? greetingFrom(greeting) : undefined;
    entry.isRead = isRead;
    entry.isGreeted = isGreeted;
    for (const kind of readKinds) entry.readKinds.add(kind);
    for (const kind of announced) entry.announced.add(kind);
    if (shownAgoMs !== null) entry.shownAt = now - shownAgoMs;
    for (const list of state.lists) restoreList(entry, list, isOffered, now);
  }
}

function greetingFrom(greeting: NonNullable<CatalogueState['greeting']>): Greeting {
  const { serverInfo, instructions } = greeting;
  return { ...greeting, serverInfo, instructions: instructions ?? undefined };
}

function rankOf({ aim }: CatalogueState): number {
  return aim.owner === null ? 0 : 1;
}

function restoreList(
  { catalogue }: ClassCatalogue,
  { kind, text, leftOut, scope, holdsMs, isStale, staleInMs }: ListState,
  isOffered: boolean,
  now: number,
): void {
  const definitions = definitionsOf(text, kind);
  // What cannot be read is asked for again.
  if (definitions === undefined) return;
  const staleAt = staleInMs === null ? Number.POSITIVE_INFINITY : now + staleInMs;
  const listing = { definitions, leftOut, scope, holdsUntil: now + holdsMs };
  catalogue.lists.restore(kind, listing, isStale, staleAt);
  catalogue.restore(kind, definitions, isOffered);
}
