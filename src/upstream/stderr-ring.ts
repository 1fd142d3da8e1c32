// The last lines a server wrote to stderr. It is always drained, because a pipe nobody reads
// stops the server; it is bounded, because some servers never stop writing; and it is the first
// thing a person wants to see when a server dies.

const maxLines = 200;
const maxBytes = 64 * 1024;
const maxLineBytes = 8 * 1024;

export class StderrRing {
  readonly #lines: string[] = [];
  #bytes = 0;
  #unfinished: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): void {
    // Whatever precedes the last ring's worth of a chunk would be pushed out again at once.
    const recent = chunk.length > maxBytes ? chunk.subarray(chunk.length - maxBytes) : chunk;
    let start = 0;
    for (let at = recent.indexOf(10); at !== -1; at = recent.indexOf(10, start)) {
      this.#finish(recent.subarray(start, at));
      start = at + 1;
    }
    const room = maxLineBytes - this.#unfinished.length;
    const rest = recent.subarray(start);
    if (rest.length > 0 && room > 0) {
      this.#unfinished = Buffer.concat([this.#unfinished, rest.subarray(0, room)]);
    }
  }

  /** Oldest first, with control characters made visible: it ends up on a terminal. */
  get lines(): readonly string[] {
    return this.#unfinished.length > 0
      ? [...this.#lines, printable(this.#unfinished)]
      : [...this.#lines];
  }

  get lastLine(): string | undefined {
    return this.lines.findLast((line) => line.trim() !== '');
  }

  #finish(end: Buffer): void {
    const room = maxLineBytes - this.#unfinished.length;
    const line = printable(Buffer.concat([this.#unfinished, end.subarray(0, Math.max(0, room))]));
    this.#unfinished = Buffer.alloc(0);
    this.#lines.push(line);
    this.#bytes += line.length;
    while (this.#lines.length > maxLines || this.#bytes > maxBytes) {
      this.#bytes -= this.#lines.shift()?.length ?? 0;
    }
  }
}

/** Text that cannot drive a terminal or forge a log line. */
export function printable(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replace(/\r$/, '')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (control) => {
      return `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`;
    });
}
