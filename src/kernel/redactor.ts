// Replaces known secret values in a text by their names. The stderr of a server, and errors about a
// command or an address, are shown to people and stored on disk, so they must not contain
// passwords. The name in place of a value tells the reader what was there. Only known values can be
// found; `config/secrets.ts` decides which those are.

import { Fault } from './fault.ts';

export interface Secret {
  /** The replacement, such as `env API_KEY`. */
  readonly name: string;
  readonly value: string;
}

/** A shorter value is not a serious secret, and occurs in ordinary words. */
const shortest = 6;

/**
 * The access tokens of the gateway itself: their values are not stored, but their format is known.
 */
const ownToken = 'hf_[A-Za-z0-9_-]{40,}';

export class Redactor {
  /** One for each form of each secret of one server's config; made once. */
  readonly #names = new Map<string, string>();
  /**
   * The length of the longest form: how much of a text must be seen before a part of it can be
   * judged.
   */
  readonly longest: number;
  #pattern: RegExp | undefined;

  constructor(secrets: Iterable<Secret> = []) {
    for (const { name, value } of secrets) {
      for (const form of formsOf(value)) {
        if (form.length >= shortest && !this.#names.has(form)) this.#names.set(form, name);
      }
    }
    let longest = 0;
    for (const form of this.#names.keys()) longest = Math.max(longest, form.length);
    this.longest = longest;
  }

  text(text: string): string {
    this.#pattern ??= patternOf([...this.#names.keys()]);
    return text.replace(this.#pattern, (found) => `[${this.#names.get(found) ?? 'access token'}]`);
  }

  /** The same for all text in a fault that is ours or comes from stderr. */
  fault(fault: Fault): Fault {
    // The server's own error is its answer to the caller and is forwarded unchanged.
    if (fault.code === 'rpc_error') return fault;
    const { code, detail, stderr, ...facts } = fault.record;
    const shown = this.text(detail);
    const lines = stderr === undefined ? {} : { stderr: this.text(stderr) };
    if (shown === detail && lines.stderr === stderr) return fault;
    return new Fault(code, shown, { ...facts, ...lines }, fault.cause);
  }
}

/** The forms in which a value can appear: as it is, line by line, in JSON, in a URL. */
function formsOf(value: string): readonly string[] {
  const lines = value.includes('\n') ? value.split(/\r?\n/).map((line) => line.trim()) : [];
  return [value, ...lines, JSON.stringify(value).slice(1, -1), encoded(value)];
}

function encoded(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    // Half of a surrogate pair has no such form.
    return value;
  }
}

/** Longer forms first: one secret may begin with another. */
function patternOf(forms: readonly string[]): RegExp {
  const longestFirst = [...forms].sort((a, b) => b.length - a.length);
  return new RegExp([...longestFirst.map(literal), ownToken].join('|'), 'g');
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
