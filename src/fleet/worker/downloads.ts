// Large answers that are being pulled, of all calls of a worker together. The parts that are asked for and have not
// come are limited over all of them, to less than what the broker holds for one link before it refuses what is told:
// so a part is lost only with its link, or if something else fills it; what did not come for a while is asked for
// again. Answers that were announced first are pulled first.

import type { Mail } from '../../broker/contract.ts';
import { type Parcel, partIn } from '../parcel.ts';
import { Download } from './download.ts';
import type { OpenCall } from './open-call.ts';

/** Asks for the part of an answer at this place. */
export type AskForPart = (call: OpenCall, offset: number) => void;

/** What a part has led to: the whole answer, or why there is none; undefined: more is to come. */
export type Pulled = Buffer | 'damaged' | 'gone' | undefined;

/** Of all answers together: 3 MiB. */
const maxAsked = 12;

export class Downloads {
  readonly #ask: AskForPart;
  /** In the order in which they were announced; at most as many as calls are open. */
  readonly #calls = new Set<OpenCall>();
  #isHeld = false;

  constructor(ask: AskForPart) {
    this.#ask = ask;
  }

  /** An answer is announced, perhaps once more: then what has come of it counts. */
  begin(call: OpenCall, parcel: Parcel, announcement: Mail): void {
    if (!call.download?.isOf(parcel)) call.download = new Download(parcel);
    call.announcement = announcement;
    call.download.askAgain();
    this.#calls.add(call);
  }

  /** A part has come. */
  take(call: OpenCall, body: Buffer): Pulled {
    const { download } = call;
    if (download === undefined) return undefined;
    const part = partIn(body);
    if (part === 'gone') return 'gone';
    if (part === 'damaged' || !download.put(part.offset, part.bytes)) return 'damaged';
    return download.result;
  }

  /** Held: nothing more is asked for, because whoever gets the answers does not keep up. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (!isHeld) this.pull();
  }

  /** Asks for as much as may be asked for now. */
  pull(): void {
    if (this.#isHeld) return;
    let room = maxAsked;
    for (const { download } of this.#calls) room -= download?.asked ?? 0;
    for (const call of this.#calls) {
      if (room <= 0) return;
      const offsets = call.download?.next(room) ?? [];
      room -= offsets.length;
      for (const offset of offsets) this.#ask(call, offset);
    }
  }

  /** What was asked for by a link that has ended, or did not come since the last look, is asked for again. */
  askAgain(isStale: (download: Download) => boolean = () => true): void {
    for (const { download } of this.#calls) {
      if (download !== undefined && isStale(download)) download.askAgain();
    }
  }

  /** It is announced once more: until then nothing is asked for, and what has come is kept. */
  pause(call: OpenCall): void {
    call.announcement = undefined;
    this.#calls.delete(call);
  }

  /** It is over, one way or the other. */
  end(call: OpenCall): void {
    this.pause(call);
    call.download = undefined;
  }
}
