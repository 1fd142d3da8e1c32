// What is known about a server with its current config: what it offers, its facts, and its start
// history. All of it belongs to the server's spec (what is run or reached) and is stored under its
// hash; a server with another spec begins without knowledge, or with what an earlier run stored for
// that spec.

import type { ServerConfig } from '../../config/schema.ts';
import { specHash } from '../../config/spec-hash.ts';
import type { Aim } from '../connections/connection-slot.ts';
import type { Catalogue } from '../lists/catalogue.ts';
import type { KeptRecord } from '../lists/kept-catalogues.ts';
import type { ListKind } from '../lists/listings.ts';
import { Offerings } from '../lists/offerings.ts';
import { ServerFacts } from './server-facts.ts';
import type { ServerParts } from './server-parts.ts';
import { StartHistory } from './start-history.ts';

export interface KnowledgeListener {
  /** Has the server asked its client back? */
  readonly asks: () => boolean;
  /** Is there a connection that this is read on? */
  readonly isHeld: (catalogue: Catalogue) => boolean;
  /** The lists of this class are not kept any more. */
  readonly gaveUp: (aim: Aim) => void;
  /** A fact is known that was not. */
  readonly learnt: () => void;
}

export class ServerKnowledge {
  readonly specHash: string;
  readonly history: StartHistory;
  readonly facts: ServerFacts;
  readonly offerings: Offerings;

  constructor(name: string, config: ServerConfig, parts: ServerParts, listener: KnowledgeListener) {
    const { clock, events } = parts;
    this.specHash = specHash(config);
    this.history = new StartHistory(this.specHash, clock, parts.starts);
    this.facts = new ServerFacts(parts.facts, this.specHash, clock, listener.learnt);
    this.offerings = new Offerings({
      ...parts,
      config,
      specHash: this.specHash,
      facts: this.facts,
      asks: listener.asks,
      isHeld: listener.isHeld,
      gaveUp: listener.gaveUp,
      toolsRead: (tools, invalid, changed) => {
        events.emit({ kind: 'tools', server: name, tools, invalid });
        if (changed.length > 0) parts.toolsChanged(name, changed);
      },
      caught: (error) => {
        events.defects.caught('the kept catalogue', error, name);
      },
      listChanged: (kind, change) => parts.listChanged(name, kind, change),
      read: (kind: ListKind) => this.history.listed(kind),
    });
  }

  /** Reads what an earlier run knew. */
  async recall(): Promise<KeptRecord | undefined> {
    const [record] = await Promise.all([this.offerings.recall(), this.facts.recall()]);
    return record;
  }
}
