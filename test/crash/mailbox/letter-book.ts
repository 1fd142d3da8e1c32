// What became of the letters that were sent through a broker, and what it means for those that come after a crash:
// a letter that was confirmed and that nobody has acknowledged comes; one whose acknowledgement was known to the disk
// does not come again; nothing comes that was not sent, or with another body. Letters that were refused, or under way
// when the broker ended, may come or not.

import type { Violation } from '../subjects/subject.ts';

/** One line; a program of its own writes them into a file. */
export interface Note {
  /** `sent` and `acknowledged` before it is tried; `done`: the disk knows of the acknowledgement. */
  readonly did: 'sent' | 'confirmed' | 'refused' | 'acknowledged' | 'done';
  readonly id: string;
}

export interface Came {
  readonly id: string;
  readonly body: string;
}

/** The last part of an id says how long its body is. */
export function bodyOf(id: string): string {
  const bytes = Number(id.slice(id.lastIndexOf('-') + 1));
  return `${id} `.repeat(Math.ceil(bytes / (id.length + 1))).slice(0, bytes);
}

export class LetterBook {
  readonly #ids: Readonly<Record<Note['did'], Set<string>>> = {
    sent: new Set(),
    confirmed: new Set(),
    refused: new Set(),
    acknowledged: new Set(),
    done: new Set(),
  };

  note({ did, id }: Note): void {
    this.#ids[did].add(id);
  }

  count(did: Note['did']): number {
    return this.#ids[did].size;
  }

  /** Whatever is left in the mailbox has come. */
  judge(came: readonly Came[]): readonly Violation[] {
    const { sent, confirmed, acknowledged, done } = this.#ids;
    const found: Violation[] = [];
    for (const { id, body } of came) {
      if (!sent.has(id)) found.push({ wrong: 'phantom', text: `nobody has sent ${id}` });
      else if (body !== bodyOf(id)) found.push({ wrong: 'phantom', text: `${id} is ${cut(body)}` });
      if (done.has(id)) found.push({ wrong: 'again', text: `${id} was done with, and has come` });
    }
    const there = new Set(came.map(({ id }) => id));
    for (const id of confirmed) {
      if (acknowledged.has(id) || there.has(id)) continue;
      found.push({ wrong: 'lost', text: `${id} was confirmed, and does not come` });
    }
    return found;
  }
}

function cut(text: string): string {
  return JSON.stringify(text.slice(0, 60));
}
