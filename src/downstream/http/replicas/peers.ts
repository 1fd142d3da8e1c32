// The other replicas, as the HTTP front uses them: connections to them, over which a request is passed on as it came,
// with its credential, and is checked there like any other.

import type { Duplex } from 'node:stream';

export interface Peers {
  /** This replica. */
  readonly id: string;
  /** All replicas are processes of one instance, each of which has replaced another: the local user is the same everywhere. */
  readonly isOneMachine?: boolean;
  /** A connection to this replica. */
  connect(replica: string): Promise<Connected | NotConnected>;
  /** A connection to any replica that accepts work. */
  connectAny(): Promise<Duplex | NotConnected>;
  /** Called whenever another replica may have taken over what this one has. */
  onDoubt(heard: (why: Doubt) => void): Disposable;
  /** Something that this replica had is ours now. */
  tookFrom(replica: string): void;
}

/** `told`: it has said so; `back`: this one could not be reached for a while. */
export type Doubt = 'told' | 'back';

export interface Connected {
  readonly connection: Duplex;
  /** It shuts down: it goes on with what it has, and wants no new work. */
  readonly isEnding: boolean;
}

/** Why there is no connection. */
export type NotConnected =
  /** The replica is gone, or none accepts work. */
  | 'absent'
  /** It did not answer in time. */
  | 'late'
  /** Whether it is there cannot be said now. */
  | 'unknown';

/** What a request is for is held by this replica. */
export class Elsewhere {
  readonly replica: string;

  constructor(replica: string) {
    this.replica = replica;
  }
}
