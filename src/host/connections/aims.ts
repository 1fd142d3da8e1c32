// What kind of connection a client has with a server: its era, class and folder, and whether its lists are
// its own. From that follows which callers a server treats alike, so that they may share what it answered, and
// which class of clients a list on a connection is asked for: a modern connection serves all classes, and every
// request on it carries the capabilities of its client.

import type { Facts } from '../servers/server-facts.ts';
import type { Caller } from './caller.ts';
import { bareClass, classOf } from './client-class.ts';
import type { Aim, ConnectionSlot } from './connection-slot.ts';
import type { FoldersOfClients } from './folders-of-clients.ts';
import type { Isolation } from './isolation.ts';
import type { OwnSlots } from './own-slots.ts';
import type { Watcher } from './watches.ts';

export interface AimsParts {
  readonly isolation: Isolation;
  readonly folders: FoldersOfClients;
  readonly own: Pick<OwnSlots, 'of'>;
  readonly facts: () => Facts;
  /** The connection of all clients, where the operator wants one. */
  readonly current: () => ConnectionSlot;
}

export class Aims {
  readonly #parts: AimsParts;

  constructor(parts: AimsParts) {
    this.#parts = parts;
  }

  /** The era and class of the connection that serves this client. */
  aimOf({ client, capabilities }: Watcher): Aim {
    const { isolation, folders, current } = this.#parts;
    if (isolation.mode === 'shared') return this.aimOn(current(), { capabilities });
    const folder = folders.shownTo(client);
    const aim = {
      era: isolation.eraFor(client),
      clients: classOf(capabilities),
      ...(folder === undefined ? {} : { folder }),
    };
    const { key } = client;
    return isolation.isApart(aim.era) && this.#hasOwnLists(key) ? { ...aim, owner: key } : aim;
  }

  /** Whose lists are read on this connection for this client, or for nobody in particular. */
  aimOn({ aim }: ConnectionSlot, caller: Pick<Watcher, 'capabilities'> | undefined): Aim {
    if (aim.era !== 'modern') return aim;
    // What all clients together can do is declared to legacy servers only.
    const isForAll = this.#parts.isolation.mode === 'shared';
    const own = isForAll ? bareClass : aim.clients;
    const clients = caller === undefined ? own : classOf(caller.capabilities);
    return clients.key === aim.clients.key ? aim : { ...aim, clients };
  }

  #hasOwnLists(key: string): boolean {
    return this.#parts.own.of(key).some(({ aim }) => aim.owner === key);
  }

  /** The same text for callers that the server treats alike. */
  audienceOf(caller: Caller): string {
    const { isolation, facts } = this.#parts;
    const { era, clients, folder } = this.aimOf(caller);
    // As JSON: keys, classes and folders may have spaces in them.
    const told = (...parts: string[]) => JSON.stringify([...parts, folder]);
    const own = classOf(caller.capabilities).key;
    if (isolation.isApart(era)) return told('client', caller.client.key, era, own);
    // There each request carries its client's capabilities, whoever shares the connection.
    if (era === 'modern') return told('modern', own);
    return facts().classes === 'alike' ? told('legacy') : told('legacy', clients.key);
  }
}
