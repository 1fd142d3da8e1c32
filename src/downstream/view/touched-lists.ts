// Which lists clients have to read again when servers were added, removed, replaced or reordered,
// and because of which server: only clients that may see that server are notified. A removed server
// changes the lists in which it had entries; an added one, those that it declares. A server that
// was never started may be in all of them.

import type { ServersChange } from '../../host/host-news.ts';
import { type ListKind, listKinds, listWords } from '../../host/lists/listings.ts';
import type { Server } from '../../host/servers/server.ts';

export interface TouchedList {
  readonly kind: ListKind;
  readonly server: string;
}

/** `all` are the servers there are: when they change places, each list of theirs has changed. */
export function listsOfThoseGone(
  { removed, replaced, isReordered }: ServersChange,
  all: readonly Server[],
): readonly TouchedList[] {
  const had = removed.flatMap(({ name, offerings }) =>
    listKinds
      .filter((kind) => (offerings.definitions(kind)?.length ?? 0) > 0)
      .map((kind) => ({ kind, server: name })),
  );
  const others = isReordered ? all : replaced;
  return [...had, ...others.flatMap(({ name }) => everyList(name))];
}

export function listsOfThoseCome({ added, replaced }: ServersChange): readonly TouchedList[] {
  return [...added, ...replaced].flatMap(({ name, greeting }) =>
    everyList(name).filter(
      ({ kind }) => !greeting || listWords[kind].isDeclared(greeting.capabilities),
    ),
  );
}

function everyList(server: string): readonly TouchedList[] {
  return listKinds.map((kind) => ({ kind, server }));
}
