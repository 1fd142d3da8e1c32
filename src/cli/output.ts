// One of our two output streams. A reader that goes away (`| head`) is no failure: what is written
// afterwards is dropped, and whoever only writes for it can stop. Any other failure, such as a full
// disk behind `>`, is remembered, because a command whose output was lost has not succeeded.

import { printableJson } from '../kernel/printable.ts';
import { type Style, styleFor } from './render/style.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Of a terminal whose size nobody knows; some say that it is 0. */
const assumedColumns = 80;
const assumedRows = 24;

/** Errors that mean no more than that nobody is reading. */
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

  /** Aborted when nothing that is written arrives any more. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** The code of what kept the output from arriving; null if nothing did, or nobody reads. */
  get failure(): string | null {
    return this.#failure;
  }

  /** Infinite where nobody sees lines wrap. */
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

  /** In one line that cannot drive a terminal, with the same meaning for whoever parses it. */
  json(value: unknown): void {
    this.line(printableJson(JSON.stringify(value)));
  }

  /** What has not been read by now never will be: nobody waits for it. */
  giveUp(): void {
    this.#closed.abort();
  }

  /** Resolves when what was written has left us, or never will. */
  async flushed(): Promise<void> {
    if (this.closed.aborted) return;
    await new Promise<void>((resolve) => {
      this.closed.addEventListener('abort', () => resolve(), { once: true });
      this.#stream.write('', () => resolve());
    });
  }
}
