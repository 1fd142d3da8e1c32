// One of the two output streams. A reader that goes away (`| head`) is not an error: later output
// is dropped, and code that only writes for it can stop. Any other error, such as a full disk
// behind `>`, is recorded, because a command whose output was lost has not succeeded.

import { printableJson } from '../kernel/printable.ts';
import { type Style, styleFor } from './render/style.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** For a terminal of unknown size; some report 0. */
const assumedColumns = 80;
const assumedRows = 24;

/** Errors that only mean that nobody is reading. */
const readerGone: ReadonlySet<string> = new Set(['EPIPE', 'ECONNRESET', 'EIO']);

export class Output {
  readonly isTerminal: boolean;
  readonly style: Style;
  readonly #stream: NodeJS.WriteStream;
  readonly #closed = new AbortController();
  #failure: string | null = null;

  constructor(stream: NodeJS.WriteStream, env: Environment) {
    this.#stream = stream;
    this.isTerminal = stream.isTTY === true;
    this.style = styleFor(this.isTerminal, env);
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (!readerGone.has(error.code ?? '')) this.#failure ??= error.code ?? error.name;
      this.#closed.abort();
    });
  }

  /** Aborted when output no longer arrives. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** The code of the error that prevented output; null if there was none, or if nobody reads. */
  get failure(): string | null {
    return this.#failure;
  }

  /** Infinite where lines are not shown on a terminal. */
  get columns(): number {
    return this.isTerminal ? this.#stream.columns || assumedColumns : Number.POSITIVE_INFINITY;
  }

  get rows(): number {
    return this.isTerminal ? this.#stream.rows || assumedRows : Number.POSITIVE_INFINITY;
  }

  write(content: string | Uint8Array): void {
    if (!this.closed.aborted) this.#stream.write(content);
  }

  line(text = ''): void {
    this.write(`${text}\n`);
  }

  /** On one line without control characters, with the same meaning for a parser. */
  json(value: unknown): void {
    this.line(printableJson(JSON.stringify(value)));
  }

  /** Output that has not been read by now is not waited for. */
  giveUp(): void {
    this.#closed.abort();
  }

  /** Resolves when everything was written, or never will be. */
  async flushed(): Promise<void> {
    if (this.closed.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.closed.removeEventListener('abort', done);
        resolve();
      };
      this.closed.addEventListener('abort', done);
      this.#stream.write('', done);
    });
  }
}
