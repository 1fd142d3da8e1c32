// What is stored of a server's lists when several processes write: a gateway and a short command beside it,
// or two gateways on stdio. Each stores what it has read itself in this run. Everything else that it knows was
// stored by somebody before, and what is stored now is at least as new.

import { maxClasses } from './catalogues.ts';
import type { KeptCatalogue } from './kept-catalogues.ts';
import type { ListKind } from './listings.ts';

/** What this process knows of one class of clients. */
export interface OwnCatalogue extends KeptCatalogue {
  /** Which of its lists were read in this run. */
  readonly readKinds: ReadonlySet<ListKind>;
  readonly isGreeted: boolean;
}

/** What is to be stored, if this is stored now; `isAlike`: all legacy classes are offered the same. */
export function withOthers(
  own: readonly OwnCatalogue[],
  stored: readonly KeptCatalogue[],
  isAlike: boolean,
): readonly KeptCatalogue[] {
  const isSame = ({ aim }: KeptCatalogue, { aim: other }: KeptCatalogue) =>
    aim.era === other.era &&
    ((isAlike && aim.era === 'legacy') || aim.clients.key === other.clients.key);
  const ours = own.map((one) => {
    const before = stored.filter((other) => isSame(one, other));
    // Of several that have become one, the own class is the best.
    const [nearest = before[0]] = before.filter(
      ({ aim }) => aim.clients.key === one.aim.clients.key,
    );
    return nearest === undefined ? one : joined(one, nearest);
  });
  const others = stored.filter((other) => !own.some((one) => isSame(one, other)));
  const all = [...ours, ...others].filter(({ lists }) => lists.size > 0);
  return all.slice(0, maxClasses);
}

function joined(own: OwnCatalogue, stored: KeptCatalogue): KeptCatalogue {
  const { aim, readKinds, isGreeted } = own;
  const read = [...own.lists].filter(([kind]) => readKinds.has(kind));
  const greeting = isGreeted ? own.greeting : (stored.greeting ?? own.greeting);
  return { aim, greeting, lists: new Map([...own.lists, ...stored.lists, ...read]) };
}
