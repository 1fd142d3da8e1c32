// What the processes of a server have written that is not MCP: their stderr, and lines on stdout that are
// no messages. It is kept for each server over all its processes, bounded, so that a person can read it
// while the server runs (`holdfast logs`); the connection keeps its own last lines for the cause of a
// failure (upstream/stdio/stderr-ring.ts). Secrets are replaced when a line is read.

export interface OutputLine {
  /** Wall time. */
  readonly at: number;
  /** The process that wrote it; null if that is not known. */
  readonly pid: number | null;
  readonly stream: 'stderr' | 'stdout';
  /** Without control characters and secrets. */
  readonly text: string;
}

/** Lines after those that a reader has seen. */
export interface OutputPage {
  readonly lines: readonly OutputLine[];
  /** Where the next page begins. */
  readonly next: number;
  /** How many lines before these are kept no more, though the reader has not seen them. */
  readonly missed: number;
}

/** Writes one line down; its text is asked for when somebody reads it. */
export type WriteLine = (line: Omit<OutputLine, 'at' | 'text'>, shown: Shown) => void;

/** There may be thousands: each is an object of a class with few fields, not closures. */
export interface Shown {
  /** How many characters are kept for it. */
  readonly length: number;
  text(): string;
}

const maxLines = 1_000;
const maxLength = 262_144;

interface Entry extends Omit<OutputLine, 'text'> {
  readonly shown: Shown;
}

export class ServerOutput {
  readonly #wallNow: () => number;
  /** At most `maxLines`, and `maxLength` characters. */
  readonly #entries: Entry[] = [];
  #length = 0;
  /** The number of the first that is kept. */
  #first = 0;

  constructor(wallNow: () => number) {
    this.#wallNow = wallNow;
  }

  readonly write: WriteLine = ({ pid, stream }, shown) => {
    // Member by member: copies made by a spread do not share their hidden class, which doubles what each takes.
    this.#entries.push({ at: this.#wallNow(), pid, stream, shown });
    this.#length += shown.length;
    while (this.#entries.length > maxLines || this.#length > maxLength) {
      this.#length -= this.#entries.shift()?.shown.length ?? 0;
      this.#first += 1;
    }
  };

  /** From this place on; -1, and one from another time, begin with the first line that is kept. */
  since(place: number): OutputPage {
    const next = this.#first + this.#entries.length;
    const from = place > next || place < 0 ? this.#first : place;
    const missed = Math.max(0, this.#first - from);
    const entries = this.#entries.slice(Math.max(0, from - this.#first));
    const lines = entries.map(({ at, pid, stream, shown }) => {
      return { at, pid, stream, text: shown.text() };
    });
    return { lines, next, missed };
  }
}

/** The output of every server of a host, by name. */
export class ServerOutputs {
  readonly #wallNow: () => number;
  /** By name, until the server is removed. */
  readonly #outputs = new Map<string, ServerOutput>();

  constructor(wallNow: () => number) {
    this.#wallNow = wallNow;
  }

  of(server: string): ServerOutput {
    const output = this.#outputs.get(server) ?? new ServerOutput(this.#wallNow);
    this.#outputs.set(server, output);
    return output;
  }

  forget(server: string): void {
    this.#outputs.delete(server);
  }
}
