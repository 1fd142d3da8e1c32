// Inputs that found something, kept where they can be looked at: the smallest form that still fails,
// in a folder that is made with the first of them. Of many findings the first few are enough.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Parser } from './kept-inputs.ts';

const mostShown = 10;

export class Findings {
  readonly #lines: string[] = [];
  #folder: string | undefined;
  count = 0;

  /** One line for each of the first few. */
  get lines(): readonly string[] {
    const more = this.count - this.#lines.length;
    return more > 0 ? [...this.#lines, `and ${more} more`] : this.#lines;
  }

  get isEnough(): boolean {
    return this.#lines.length >= mostShown;
  }

  /** `where` says how the input was made; it is kept as a file. */
  add(parser: Parser, where: string, says: string, input: Buffer): void {
    this.count += 1;
    if (this.isEnough) return;
    this.#folder ??= mkdtempSync(join(tmpdir(), 'holdfast-fuzz-'));
    const file = join(this.#folder, `${parser}-${this.count}.input`);
    writeFileSync(file, input);
    this.#lines.push(`${parser}, ${where}: ${says}; again: npm run fuzz -- --replay ${file}`);
  }

  /** What has no input of its own, such as memory that was not given back. */
  note(says: string): void {
    this.count += 1;
    if (!this.isEnough) this.#lines.push(says);
  }
}
