// Whether the clients of a server share connections or each has its own, and in which era each is
// served. `isolation` in the config can force either; without it, clients are parted once a legacy
// server has sent a request that cannot be assigned to one of them.

import type { ServerConfig } from '../../config/schema.ts';
import type { Era } from '../../wire/eras.ts';
import type { Facts } from '../servers/server-facts.ts';
import type { Client } from './caller.ts';
import { bareClass, type ClientClass, everyClass } from './client-class.ts';

export interface IsolationParts {
  readonly isolation: ServerConfig['isolation'];
  /**
   * Whether its clients can be asked at all. If not, no capabilities are declared to a legacy
   * server.
   */
  readonly hasClients: boolean;
  /** The facts about the server. */
  readonly facts: () => Facts;
}

export class Isolation {
  /** As the operator has set it. */
  mode: ServerConfig['isolation'];
  /** Whether this server is known to send requests to its clients. */
  asks = false;
  readonly #parts: IsolationParts;

  constructor(parts: IsolationParts) {
    this.#parts = parts;
    this.mode = parts.isolation;
  }

  /** Whether each client has its own connection. */
  isApart(era: Era): boolean {
    return this.mode === 'client' || (this.mode === 'auto' && this.asks && era === 'legacy');
  }

  /** The client's own era, unless the server is known not to support it. */
  eraFor({ isAskedInCalls }: Client): Era {
    const { modern, legacy } = this.#parts.facts();
    if (isAskedInCalls) return modern === false ? 'legacy' : 'modern';
    return legacy === false ? 'modern' : 'legacy';
  }

  /** Which capabilities the first connection declares while no client is known. */
  get firstClass(): ClientClass {
    return this.mode === 'shared' && this.#parts.hasClients ? everyClass : bareClass;
  }
}
