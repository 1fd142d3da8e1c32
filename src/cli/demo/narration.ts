// Prints the demonstration: scene by scene, while it runs, for a person; or as a list of facts at
// the end, for a program. Every fact is checked and either holds or does not.

import { printableLine } from '../../kernel/printable.ts';
import type { Output } from '../output.ts';
import { wrappedTo } from '../render/width.ts';

export interface Fact {
  readonly ok: boolean;
  readonly text: string;
}

export interface Scene {
  readonly title: string;
  readonly facts: readonly Fact[];
}

/** Every line of a scene starts with a mark at this depth, followed by its text. */
const indent = '   ';
const widestLine = 100;

export class Narration {
  /** Null prints nothing. */
  readonly #out: Output | null;
  readonly #scenes: { readonly title: string; readonly facts: Fact[] }[] = [];

  constructor(out: Output | null) {
    this.#out = out;
  }

  get scenes(): readonly Scene[] {
    return this.#scenes;
  }

  get isTrue(): boolean {
    return this.#scenes.every(({ facts }) => facts.every(({ ok }) => ok));
  }

  scene(title: string): void {
    this.#scenes.push({ title, facts: [] });
    const number = `${this.#scenes.length}  `;
    const out = this.#out;
    out?.line(`\n${out.style('cyan', number)}${out.style('bold', title)}`);
  }

  /** What is about to happen, or what a caller got. */
  tell(text: string): void {
    const out = this.#out;
    if (out !== null) this.#print('', text, (line) => out.style('dim', line));
  }

  violence(pid: number): void {
    const out = this.#out;
    out?.line(`${indent}${out.style('red', '⚡')} kill -9 ${pid}`);
  }

  /** The result. */
  fact(ok: boolean, text: string): void {
    this.#scenes.at(-1)?.facts.push({ ok, text });
    const out = this.#out;
    if (out === null) return;
    const mark = ok ? out.style('green', '✓') : out.style('red', '✗');
    this.#print(`${mark} `, text, (line) => line);
  }

  #print(mark: string, text: string, look: (line: string) => string): void {
    const out = this.#out;
    if (out === null) return;
    const hanging = mark === '' ? '' : '  ';
    const room = Math.min(out.columns, widestLine) - indent.length - hanging.length;
    const [first = '', ...rest] = wrappedTo(room, printableLine(text));
    out.line(`${indent}${mark}${look(first)}`);
    for (const line of rest) out.line(`${indent}${hanging}${look(line)}`);
  }
}
