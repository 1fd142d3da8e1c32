// Stops reading an input for good and takes what was read of it and not delivered, so that another process that has
// the same descriptor goes on exactly there. A pipe, a socket and a terminal are read by Node when they are ready,
// into the buffer of the stream: it is emptied and the stream closed before anything more can arrive. A file is read
// ahead by a request to the system, which moves the place that both processes share: FileInput waits for it.
// Descriptors 0 to 2 stay open when Node closes their streams.

import { fstatSync, read } from 'node:fs';
import { Readable } from 'node:stream';

export interface InputRest {
  readonly bytes: Buffer;
  readonly isEnded: boolean;
}

/** Nothing is delivered any more. To be called between two chunks, or while one is delivered. */
export async function takeRest(input: Readable): Promise<InputRest> {
  if (input instanceof FileInput) await input.stop();
  const chunks: Buffer[] = [];
  let isEnded = input.readableEnded;
  const end = () => {
    isEnded = true;
  };
  input.pause();
  input.removeAllListeners('data');
  input.on('end', end);
  take(input, chunks);
  // An end that was read is reported only now.
  if (!input.readableEnded) await new Promise<void>((resolve) => process.nextTick(resolve));
  take(input, chunks);
  input.off('end', end);
  input.destroy();
  return { bytes: Buffer.concat(chunks), isEnded };
}

/** Whatever is read again by this is read by the event loop, which has no turn until the stream is closed. */
function take(input: Readable, chunks: Buffer[]): void {
  for (;;) {
    const chunk: Buffer | null = input.read();
    if (chunk === null) return;
    chunks.push(chunk);
  }
}

/** The standard input; nothing of it is read before somebody listens. */
export function standardInput(): Readable {
  return fstatSync(0).isFile() ? new FileInput(0) : process.stdin;
}

const chunkBytes = 65_536;

/** A file that is read from where its descriptor stands, one request to the system at a time. */
export class FileInput extends Readable {
  readonly #fd: number;
  #reading: Promise<void> | undefined;
  #isStopped = false;

  constructor(fd: number) {
    super({ highWaterMark: chunkBytes });
    this.#fd = fd;
  }

  override _read(): void {
    if (this.#isStopped) return;
    this.#reading = new Promise((resolve) => {
      const buffer = Buffer.allocUnsafeSlow(chunkBytes);
      read(this.#fd, buffer, 0, chunkBytes, null, (error, bytes) => {
        this.#reading = undefined;
        if (error) this.destroy(error);
        else this.push(bytes === 0 ? null : buffer.subarray(0, bytes));
        resolve();
      });
    });
  }

  /** Resolves when nothing is read any more. */
  async stop(): Promise<void> {
    this.pause();
    this.#isStopped = true;
    await this.#reading;
  }
}
