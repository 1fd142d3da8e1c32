// The one client on stdio at the former of a rollout: requests that are under way end here, and everything for the
// client goes to the successor as whole lines. The successor learns which requests have ended, so that it knows which
// of the client's messages are for this process, and when nothing is left here.

import type { Id } from '../../wire/decode.ts';
import type { WatchedAddress } from '../clients/session-state.ts';
import type { OpenRequest } from '../contract.ts';
import { type ClientLink, linkKind, type RestOfClient, toFormerIn } from './handed-stdio.ts';
import type { LinkedOutput } from './linked-output.ts';

export interface RestParts {
  readonly output: LinkedOutput;
  /** The requests of this process, and of the one before, that are not answered yet. */
  readonly openNow: () => readonly OpenRequest[];
  /** What the client watches here. */
  readonly watchedNow: () => readonly WatchedAddress[];
  /** Whether the process before this one has ended its work. */
  readonly isAlone: () => boolean;
  /** Resolves when everything that was written to the client here is with the system. */
  readonly drained: Promise<void> | undefined;
  /** A line of the client that is for this process. */
  readonly heard: (line: Buffer) => void;
  readonly inputEnded: () => void;
  /** Nobody can be told anything any more. */
  readonly gone: () => void;
  readonly caught: (error: unknown) => void;
}

export class HandedClient implements RestOfClient {
  readonly done: Promise<void>;
  readonly #parts: RestParts;
  /** By id, the methods of those that are open here, as the successor knows it. */
  #known: Map<Id, string>;
  /** What the successor watches itself. */
  readonly #watched: Set<string>;
  #isDrained: boolean;
  #isDone = false;
  #end!: () => void;

  constructor(parts: RestParts) {
    this.#parts = parts;
    this.#known = byId(parts.openNow());
    this.#watched = new Set(parts.watchedNow().map(({ as }) => as));
    this.done = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#isDrained = parts.drained === undefined;
    parts.drained
      ?.then(() => {
        this.#isDrained = true;
        parts.output.say({ say: 'drained' });
        this.#endIfDone();
      })
      .catch(parts.caught);
    this.#endIfDone();
  }

  attach(link: ClientLink): void {
    const { output, gone, caught } = this.#parts;
    output.attach(link);
    const listening = link.on(linkKind, (head, line) => this.#heard(head, line));
    const ended = () => {
      listening[Symbol.dispose]();
      if (this.#isDone) return;
      gone();
      this.#finish();
    };
    link.closed.then(ended).catch(caught);
  }

  #heard(head: unknown, line: Buffer): void {
    const { output, heard, inputEnded, gone } = this.#parts;
    const said = toFormerIn(head);
    switch (said.say) {
      case 'line':
        return heard(line);
      case 'taken':
        return output.taken(said.bytes ?? 0);
      case 'ended':
        return inputEnded();
      case 'gone':
        gone();
        return this.#finish();
    }
  }

  /** A request of the client that goes on with something of this process. */
  begun({ id, method }: OpenRequest): void {
    this.#known.set(id, method);
  }

  /** Something may have ended, here or in the process before. */
  look(): void {
    const now = byId(this.#parts.openNow());
    const ended = [...this.#known].filter(([id]) => !now.has(id));
    this.#known = now;
    if (ended.some(([, method]) => method === 'resources/subscribe')) this.#tellWatched();
    const ids = ended.map(([id]) => id);
    if (ids.length > 0) this.#parts.output.say({ say: 'over', ids });
    this.#endIfDone();
  }

  watched(address: WatchedAddress): void {
    this.#watched.add(address.as);
    this.#parts.output.say({ say: 'watched', watched: address });
  }

  #tellWatched(): void {
    for (const address of this.#parts.watchedNow()) {
      if (!this.#watched.has(address.as)) this.watched(address);
    }
  }

  #endIfDone(): void {
    const isLeft = this.#known.size > 0 || !this.#isDrained || !this.#parts.isAlone();
    if (this.#isDone || isLeft) return;
    this.#parts.output.say({ say: 'done' });
    this.#finish();
  }

  #finish(): void {
    this.#isDone = true;
    this.#end();
  }
}

function byId(open: readonly OpenRequest[]): Map<Id, string> {
  return new Map(open.map(({ id, method }) => [id, method]));
}
