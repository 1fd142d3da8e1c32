// The ways in which servers read one address: as it is written, with its escapes decoded, with the slashes of
// its path made single, and without query and fragment. A pattern is read in the same ways. A role allows an
// address only if it allows every reading of it, and denies it if it denies one of them. Hosts and some file
// systems take letters of different case for the same, so `deny` does, too. What is in a folder can be listed by
// reading the folder: a `deny` of all that is in one is a `deny` of the folder itself.

import { decoded } from './decoded.ts';
import { Glob } from './glob.ts';

export class AddressReadings {
  /** In the order of `readingsOf`. */
  readonly texts: readonly string[];
  #folded: readonly string[] | undefined;

  constructor(address: string) {
    this.texts = readingsOf(address);
  }

  /** The different ones among them, for `deny`; computed once, however many patterns are compared with them. */
  get folded(): readonly string[] {
    this.#folded ??= [...new Set([...new Set(this.texts)].map(folded))];
    return this.#folded;
  }
}

function readingsOf(address: string): readonly string[] {
  const text = decoded(address) ?? address;
  return [address, text, shortPath(text), shortPath(text.replace(/[?#].*$/su, ''))];
}

/** As many as `readingsOf` returns. */
const howMany = 4;

/** `file:////a//b/` as `file:///a/b`. */
function shortPath(address: string): string {
  const [start = ''] = /^[^:/?#]*:\/\//.exec(address) ?? [];
  return (
    start +
    address
      .slice(start.length)
      .replace(/\/{2,}/g, '/')
      .replace(/\/(?=$|[?#])/, '')
  );
}

/** Letters that somebody takes for the same are the same. */
function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

/** `file:///a/*` is about `file:///a`, too. */
function withFolder(pattern: string): readonly string[] {
  const folder = pattern.replace(/\/\*+$/, '');
  return folder === pattern ? [pattern] : [pattern, folder];
}

/** The part of a pattern that is about the address. */
export class AddressGlob {
  /** One for each reading. */
  readonly #allowing: readonly Glob[];
  readonly #denying: readonly Glob[];

  constructor(pattern: string) {
    const readings = readingsOf(pattern);
    this.#allowing = readings.map((text) => new Glob(text));
    // Without its query a pattern would deny more than it says.
    const denied = readings
      .slice(0, howMany - 1)
      .map(folded)
      .flatMap(withFolder);
    this.#denying = [...new Set(denied)].map((text) => new Glob(text));
  }

  /** Whether it matches the reading with this place in the row. */
  matchesReading(at: number, reading: string): boolean {
    return this.#allowing[at]?.matches(reading) ?? false;
  }

  /** Whether it matches one of them. */
  matchesAny({ folded }: AddressReadings): boolean {
    return folded.some((text) => this.#denying.some((glob) => glob.matches(text)));
  }
}
