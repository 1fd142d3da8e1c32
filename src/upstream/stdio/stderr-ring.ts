// The last lines a server wrote to stderr. stderr is always read, because a full pipe stops the
// server; the buffer is bounded, because some servers never stop writing; and these lines are the
// first thing a person needs when a server fails. Known secrets are replaced before anybody sees
// them.

import { Redactor } from '../../kernel/redactor.ts';
import type { Shown } from '../../observe/server-output.ts';

const maxLines = 200;
const maxBytes = 64 * 1024;
const maxLineBytes = 8 * 1024;

/** A line without control characters. */
class Line implements Shown {
  readonly #text: string;
  /** The line was longer than what is kept of it. */
  readonly #isCut: boolean;
  readonly #redactor: Redactor;

  constructor(text: string, isCut: boolean, redactor: Redactor) {
    this.#text = text;
    this.#isCut = isCut;
    this.#redactor = redactor;
  }

  get length(): number {
    return this.#text.length;
  }

  text(): string {
    return withoutSecrets(this.#text, this.#isCut, this.#redactor);
  }
}

/** The bytes of a line, one for each character: a buffer would keep the pool that it is taken from. */
class RawLine implements Shown {
  readonly #bytes: string;
  readonly #isCut: boolean;
  readonly #redactor: Redactor;

  constructor(bytes: Buffer, redactor: Redactor) {
    this.#bytes = bytes.toString('latin1', 0, maxLineBytes);
    this.#isCut = bytes.length > maxLineBytes;
    this.#redactor = redactor;
  }

  get length(): number {
    return this.#bytes.length;
  }

  text(): string {
    const text = printable(Buffer.from(this.#bytes, 'latin1'));
    return withoutSecrets(text, this.#isCut, this.#redactor);
  }
}

export class StderrRing {
  readonly #redactor: Redactor;
  readonly #lines: Line[] = [];
  #bytes = 0;
  #unfinished: Buffer = Buffer.alloc(0);
  readonly #written: ((line: Shown) => void) | undefined;

  /** `written` is called with every line. */
  constructor(redactor = new Redactor(), written?: (line: Shown) => void) {
    this.#redactor = redactor;
    this.#written = written;
  }

  push(chunk: Buffer): void {
    let recent = chunk;
    // Only the end of a chunk is needed: the rest would be dropped again at once.
    if (chunk.length > maxBytes) {
      recent = chunk.subarray(chunk.indexOf(10, chunk.length - maxBytes) + 1);
      this.#unfinished = Buffer.alloc(0);
    }
    // Of a flood of short lines only the end is looked at: each line costs, and few are kept.
    let start = startOfLast(recent, maxLines);
    if (start > 0) this.#unfinished = Buffer.alloc(0);
    for (let at = recent.indexOf(10, start); at !== -1; at = recent.indexOf(10, start)) {
      this.#finish(recent.subarray(start, at));
      start = at + 1;
    }
    const room = maxLineBytes - this.#unfinished.length;
    const rest = recent.subarray(start);
    if (rest.length > 0 && room > 0) {
      this.#unfinished = Buffer.concat([this.#unfinished, rest.subarray(0, room)]);
    }
  }

  /** Nothing more follows: what has no line end is a line, too. */
  end(): void {
    if (this.#unfinished.length > 0) this.#finish(Buffer.alloc(0));
  }

  /** The lines, and what has no line end yet: unlike those it may contain a part of a secret. */
  handOver(): { readonly lines: readonly string[]; readonly unfinished: Buffer } {
    return { lines: this.#lines.map((line) => line.text()), unfinished: this.#unfinished };
  }

  /** Begins with the lines of another one. */
  restore(lines: readonly string[]): void {
    for (const text of lines) this.#keep(new Line(text, false, this.#redactor));
  }

  /** Oldest first, with control characters made visible: it ends up on a terminal. */
  get lines(): readonly string[] {
    const unfinished = this.#unfinished;
    const isCut = unfinished.length >= maxLineBytes;
    const last = new Line(printable(unfinished), isCut, this.#redactor);
    const lines = unfinished.length > 0 ? [...this.#lines, last] : this.#lines;
    return lines.map((line) => line.text());
  }

  #finish(end: Buffer): void {
    const room = maxLineBytes - this.#unfinished.length;
    const isCut = end.length > room || this.#unfinished.length >= maxLineBytes;
    const text = printable(Buffer.concat([this.#unfinished, end.subarray(0, Math.max(0, room))]));
    this.#unfinished = Buffer.alloc(0);
    const line = new Line(text, isCut, this.#redactor);
    this.#keep(line);
    this.#written?.(line);
  }

  #keep(line: Line): void {
    this.#lines.push(line);
    this.#bytes += line.length;
    while (this.#lines.length > maxLines || this.#bytes > maxBytes) {
      this.#bytes -= this.#lines.shift()?.length ?? 0;
    }
  }
}

/** Where the last lines of a chunk begin; 0 if it has no more. */
function startOfLast(chunk: Buffer, count: number): number {
  let at = chunk.length;
  for (let line = 0; line <= count; line += 1) {
    at = at > 0 ? chunk.lastIndexOf(10, at - 1) : -1;
    if (at < 0) return 0;
  }
  return at + 1;
}

/** A line that is shown like one of stderr; it is made readable when somebody reads it. */
export function shownLine(bytes: Buffer, redactor = noSecrets): Shown {
  return new RawLine(bytes, redactor);
}

const noSecrets = new Redactor();

function withoutSecrets(text: string, isCut: boolean, redactor: Redactor): string {
  return isCut ? `${redactor.cut(text)}…` : redactor.text(text);
}

/** Text without control characters and line breaks. */
export function printable(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replace(/\r$/, '')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (control) => {
      return `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`;
    });
}
