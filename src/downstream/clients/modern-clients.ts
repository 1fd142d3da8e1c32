// The modern clients that are known, by key: a stdio connection until it ends, and every principal
// over HTTP, where nobody says when a client is gone. So there are only so many: beyond, the one that
// is idle for longest is taken to be gone, and what its servers kept for it alone ends.

import type { Parking } from '../relay/parking.ts';
import { ModernClient } from './modern-client.ts';

const maxClients = 256;

export class ModernClients {
  readonly #parking: Parking;
  readonly #gone: (key: string) => void;
  /** By key; at most `maxClients` and those that have requests under way. */
  readonly #clients = new Map<string, ModernClient>();
  #requests = 0;

  /** `gone` is told of each that is forgotten. */
  constructor(parking: Parking, gone: (key: string) => void) {
    this.#parking = parking;
    this.#gone = gone;
  }

  get size(): number {
    return this.#clients.size;
  }

  /** The client of this key, which has a request. */
  of(key: string): ModernClient {
    const client = this.#clients.get(key) ?? this.#add(key);
    client.lastRequest = ++this.#requests;
    return client;
  }

  forget(key: string): void {
    this.#clients.delete(key);
    this.#gone(key);
  }

  #add(key: string): ModernClient {
    if (this.#clients.size >= maxClients) this.#forgetOldest();
    const client = new ModernClient(key, this.#parking);
    this.#clients.set(key, client);
    return client;
  }

  #forgetOldest(): void {
    let oldest: ModernClient | undefined;
    for (const client of this.#clients.values()) {
      if (client.underWay > 0) continue;
      if (oldest === undefined || client.lastRequest < oldest.lastRequest) oldest = client;
    }
    if (oldest) this.forget(oldest.key);
  }
}
