// Replaces known secret values in a text by the names they have. What a server writes to stderr, and what
// an error says about a command or an address, is shown to people and kept on disk; a password in it must
// not be. The name that stands there instead tells a person what it was. Only values that are known can be
// found: which those are is decided elsewhere (`config/secrets.ts`).

import { Fault } from './fault.ts';

export interface Secret {
  /** What stands in its place, such as `env API_KEY`. */
  readonly name: string;
  readonly value: string;
}

/** A shorter value is no secret worth the name, and occurs in ordinary words. */
const shortest = 6;

/** The access tokens of the gateway itself: their values are nowhere, but their form is known. */
const ownToken = 'hf_[A-Za-z0-9_-]{40,}';

export class Redactor {
  readonly #names = new Map<string, string>();
  /** Of the longest form: how much of a text must be seen before a part of it is judged. */
  readonly longest: number;
  #pattern: RegExp | undefined;

  constructor(secrets: Iterable<Secret> = []) {
    for (const { name, value } of secrets) {
      for (const form of formsOf(value)) {
        if (form.length >= shortest && !this.#names.has(form)) this.#names.set(form, name);
      }
    }
    const lengths = [...this.#names.keys()].map((form) => form.length);
    this.longest = lengths.reduce((longest, length) => Math.max(longest, length), 0);
  }

  text(text: string): string {
    this.#pattern ??= patternOf([...this.#names.keys()]);
    return text.replace(this.#pattern, (found) => `[${this.#names.get(found) ?? 'access token'}]`);
  }

  /** The same for everything in a fault that is words of ours or stderr. */
  fault(fault: Fault): Fault {
    // The server's own error is its answer to its caller, and is carried as it came.
    if (fault.code === 'rpc_error') return fault;
    const { code, detail, stderr, ...facts } = fault.record;
    const shown = this.text(detail);
    const lines = stderr === undefined ? {} : { stderr: this.text(stderr) };
    if (shown === detail && lines.stderr === stderr) return fault;
    return new Fault(code, shown, { ...facts, ...lines }, fault.cause);
  }
}

/** As it is, line by line, and as JSON and addresses write it. */
function formsOf(value: string): readonly string[] {
  const lines = value.includes('\n') ? value.split(/\r?\n/).map((line) => line.trim()) : [];
  return [value, ...lines, JSON.stringify(value).slice(1, -1), encoded(value)];
}

function encoded(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    // Half a surrogate pair has no such form.
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
