// Secrets to be looked for wherever they must not be: each has a word of its own, whose halves are looked for as
// they are and in Base64, in texts, in files and in the command lines and environments of all processes.

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Canary {
  readonly name: string;
  readonly word: string;
  readonly value: string;
}

/** Characters around the word that JSON, addresses and patterns have to escape. */
export function canaries(kind: string, count: number): readonly Canary[] {
  return Array.from({ length: count }, (_, at) => {
    const word = randomBytes(12).toString('hex');
    return { name: `${kind}_${at}`, word, value: at % 2 === 0 ? `k"/${word}+ %é$&` : word };
  });
}

/** Either half of a word, as it is and what of it is the same in the Base64 of any text around it. */
function tracesOf(word: string): readonly string[] {
  return [word.slice(0, 12), word.slice(12)].flatMap((half) => {
    const encoded = [0, 1, 2].map((shift) =>
      Buffer.from(`${'x'.repeat(shift)}${half}`)
        .toString('base64')
        .slice(4, 12),
    );
    return [half, ...encoded];
  });
}

export function foundIn(text: string, all: readonly Canary[]): readonly string[] {
  return all
    .filter(({ word }) => tracesOf(word).some((trace) => text.includes(trace)))
    .map(({ name }) => name);
}

export const pairs = (all: readonly Canary[], form: (one: Canary) => string) =>
  Object.fromEntries(all.map((one) => [one.name, form(one)]));

export function filesBelow(folder: string): readonly string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
}

export interface Seen {
  readonly line: string;
  readonly environment: string;
}

/** Every process of this machine that is not this one. */
export function processes(): readonly Seen[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    try {
      const read = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8');
      return [{ line: read('cmdline'), environment: read('environ') }];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}
