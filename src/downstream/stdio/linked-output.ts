// The output of the former to the one client on stdio: whole lines to the successor, which alone writes to the
// client. What the successor has not passed on yet waits for the client as if it waited here: it counts in the limit
// over all clients, and from some amount on the servers are paused.

import type { Frame } from '../../wire/frames.ts';
import { joinPieces } from '../../wire/pieces.ts';
import type { OutgoingBudget, Share, Waiter } from '../outgoing/outgoing-budget.ts';
import { type ClientLink, linkKind, type ToSuccessor } from './handed-stdio.ts';
import { type ClientOutput, heldBytes } from './stdio-output.ts';

export interface LinkedOutputParts {
  readonly outgoing: OutgoingBudget;
  readonly held: (isHeld: boolean) => void;
  /** Too much waits for a client that reads nothing. */
  readonly spent: () => void;
}

export class LinkedOutput implements ClientOutput, Waiter {
  written = 0;
  readonly #parts: LinkedOutputParts;
  readonly #share: Share;
  /** Before there is a link; counted like what waits for the client. */
  #early: { readonly head: ToSuccessor; readonly line: Buffer | undefined }[] = [];
  #link: ClientLink | undefined;
  #untakenBytes = 0;
  #gatheredBytes = 0;
  #isHeld = false;
  #isOver = false;

  constructor(parts: LinkedOutputParts, gatheredBytes: number) {
    this.#parts = parts;
    this.#gatheredBytes = gatheredBytes;
    this.#share = parts.outgoing.share(this);
    if (gatheredBytes > 0) this.#share.wrote(gatheredBytes);
  }

  get waitingBytes(): number {
    return this.#untakenBytes + this.#gatheredBytes;
  }

  giveUp(): void {
    this.#parts.spent();
  }

  attach(link: ClientLink): void {
    this.#link = link;
    for (const { head, line } of this.#early) this.#send(head, line);
    this.#early = [];
  }

  /** What has a kind is news of what changes: the successor tells it. */
  write(frame: Frame, kind?: string): void {
    if (this.#isOver || kind !== undefined) return;
    this.written += 1;
    const line = joinPieces(frame);
    this.#untakenBytes += line.length;
    this.say({ say: 'line' }, line);
    this.#share.wrote(line.length);
    if (this.#isOver || this.#isHeld || this.waitingBytes < heldBytes) return;
    this.#isHeld = true;
    this.#parts.held(true);
  }

  say(head: ToSuccessor, line?: Buffer): void {
    if (this.#isOver) return;
    if (this.#link === undefined) this.#early.push({ head, line });
    else this.#send(head, line);
  }

  #send(head: ToSuccessor, line: Buffer | undefined): void {
    const { say, ids, watched } = head;
    const more = { ...(ids && { ids }), ...(watched && { watched: { ...watched } }) };
    this.#link?.send(linkKind, { say, ...more }, line);
  }

  /** So much does not wait any longer. */
  taken(bytes: number): void {
    this.#untakenBytes = Math.max(0, this.#untakenBytes - bytes);
    this.#share.look();
    if (this.waitingBytes < heldBytes) this.letGo();
  }

  flush(): void {}

  gathered(bytes: number): void {
    this.#gatheredBytes += bytes;
    if (bytes > 0) this.#share.wrote(bytes);
    else this.#share.look();
  }

  letGo(): void {
    if (this.#isHeld) this.#parts.held(false);
    this.#isHeld = false;
  }

  end(): void {
    this.#isOver = true;
    this.#early = [];
    this.#share.end();
    this.letGo();
  }
}
