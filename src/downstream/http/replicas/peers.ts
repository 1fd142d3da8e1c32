// The other replicas, as the HTTP front uses them: connections to them, over which a request is passed on as it came,
// with its credential, and is checked there like any other.

import type { Duplex } from 'node:stream';

export interface Peers {
  /** This replica. */
  readonly id: string;
  /** A connection to this replica; undefined if it is gone. Rejects if that cannot be said. */
  connect(replica: string): Promise<Connected | undefined>;
  /** A connection to any replica that accepts work; undefined if there is none, or that cannot be said. */
  connectAny(): Promise<Duplex | undefined>;
  /** Called whenever another replica may have taken over what this one has. */
  onDoubt(heard: () => void): Disposable;
  /** Something that this replica had is ours now. */
  tookFrom(replica: string): void;
}

export interface Connected {
  readonly connection: Duplex;
  /** It shuts down: it goes on with what it has, and wants no new work. */
  readonly isEnding: boolean;
}

/** What a request is for is held by this replica. */
export class Elsewhere {
  readonly replica: string;

  constructor(replica: string) {
    this.replica = replica;
  }
}
