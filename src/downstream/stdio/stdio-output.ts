// The output to the one client on stdio. Messages that are ready in one turn of the event loop are
// sent in one write; while the client does not keep up, of notifications of one kind one is kept,
// and from some amount on the senders are paused. Waiting data counts in the limit over all
// clients.

import type { Writable } from 'node:stream';
import { type Caught, contain } from '../../kernel/contain.ts';
import type { Frame } from '../../wire/frames.ts';
import { byteLengthOf, joinPieces, type Piece, pushLine } from '../../wire/pieces.ts';
import type { OutgoingBudget, Share, Waiter } from '../outgoing/outgoing-budget.ts';

export interface StdioOutputParts {
  readonly output: Writable;
  readonly outgoing: OutgoingBudget;
  /** The client falls behind, or has caught up: its servers should be paused, or may continue. */
  readonly held: (isHeld: boolean) => void;
  /** Too much waits for a client that reads nothing. */
  readonly spent: () => void;
  /** An unexpected error during a write. */
  readonly failed: Caught;
}

/** Where everything for the one client goes: its output, or the process that writes there now. */
export interface ClientOutput {
  /** Frames so far. */
  readonly written: number;
  /** `kind` as in `Reply`. */
  write(frame: Frame, kind?: string): void;
  flush(): void;
  /** A batch has collected so much more, or, with a negative number, was sent. */
  gathered(bytes: number): void;
  /** Nobody is paused any longer, whatever waits. */
  letGo(): void;
  /** Nothing more is written. */
  end(): void;
}

/** With so much waiting for the client its servers are paused. */
export const heldBytes = 8_388_608;

export class StdioOutput implements ClientOutput, Waiter {
  /** Frames so far. */
  written = 0;
  readonly #parts: StdioOutputParts;
  readonly #share: Share;
  /** Of each kind the last, while the client does not keep up; at most one for each of three kinds. */
  readonly #heldBack = new Map<string, Frame>();
  #waiting: Piece[] = [];
  /** What was to be sent since another process is about to write; a moment. */
  #later: Frame[] | undefined;
  /** What incomplete batches have collected. */
  #gatheredBytes = 0;
  #isHeld = false;
  #isFlushing = false;
  #isOver = false;

  constructor(parts: StdioOutputParts) {
    this.#parts = parts;
    this.#share = parts.outgoing.share(this);
    parts.output.on('drain', () => contain(() => this.#drained(), parts.failed));
  }

  get waitingBytes(): number {
    return this.#parts.output.writableLength + this.#gatheredBytes;
  }

  giveUp(): void {
    this.#parts.spent();
    this.#parts.output.destroy();
  }

  /** `kind` as in `Reply`. */
  write(frame: Frame, kind?: string): void {
    if (this.#isOver) return;
    this.written += 1;
    if (kind !== undefined && (this.#later || this.#parts.output.writableNeedDrain)) {
      this.#heldBack.set(kind, frame);
      return;
    }
    if (this.#later) return void this.#later.push(frame);
    pushLine(this.#waiting, frame);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    process.nextTick(() => contain(() => this.flush(), this.#parts.failed));
  }

  flush(): void {
    this.#isFlushing = false;
    const { output } = this.#parts;
    const pieces = this.#waiting;
    this.#waiting = [];
    if (pieces.length === 0 || this.#isOver) return;
    if (pieces.every((piece) => typeof piece === 'string')) {
      output.write(pieces.join(''));
    } else {
      output.cork();
      for (const piece of joinedSmall(pieces)) output.write(piece);
      output.uncork();
    }
    if (output.writableLength > 0) this.#fellBehind(pieces);
  }

  /** A batch has collected so much more, or, with a negative number, was sent. */
  gathered(bytes: number): void {
    this.#gatheredBytes += bytes;
    if (bytes > 0) this.#share.wrote(bytes);
    else this.#share.look();
  }

  /** Nobody is paused any longer, whatever waits. */
  letGo(): void {
    if (this.#isHeld) this.#parts.held(false);
    this.#isHeld = false;
  }

  /** Another process is about to write: what is ready is sent, and the rest waits. */
  stop(): void {
    this.flush();
    this.#later ??= [];
  }

  /** It writes from now on: returns what it has to, and what incomplete batches have collected. */
  handOver(): { readonly frames: readonly Frame[]; readonly gatheredBytes: number } {
    const frames = [...(this.#later ?? []), ...this.#heldBack.values()];
    this.#later = undefined;
    this.#heldBack.clear();
    const gatheredBytes = this.#gatheredBytes;
    this.end();
    return { frames, gatheredBytes };
  }

  /** Nothing more is written. */
  end(): void {
    this.#isOver = true;
    this.#waiting = [];
    this.#share.end();
    this.letGo();
  }

  /** The output has not taken all of it at once. */
  #fellBehind(pieces: readonly Piece[]): void {
    let bytes = 0;
    for (const piece of pieces) bytes += byteLengthOf(piece);
    this.#share.wrote(bytes);
    if (this.#isOver || this.waitingBytes < heldBytes) return;
    this.#isHeld = true;
    this.#parts.held(true);
  }

  #drained(): void {
    if (this.#isOver) return;
    this.#share.look();
    this.letGo();
    const news = [...this.#heldBack.values()];
    this.#heldBack.clear();
    for (const frame of news) this.write(frame);
  }
}

/** Many small pieces cost more than one copy; a large one is never copied. */
const smallBytes = 16_384;

function joinedSmall(pieces: readonly Piece[]): readonly Piece[] {
  const joined: Piece[] = [];
  let from = 0;
  for (let at = 0; at < pieces.length; at++) {
    const piece = pieces[at] as Piece;
    if (piece.length <= smallBytes) continue;
    if (at > from) joined.push(joinPieces(pieces, from, at));
    joined.push(piece);
    from = at + 1;
  }
  if (from < pieces.length) joined.push(joinPieces(pieces, from, pieces.length));
  return joined;
}
