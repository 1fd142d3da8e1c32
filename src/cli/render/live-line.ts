// One line at the bottom of a terminal that shows what a command is waiting for. It appears only
// when the wait is long, only on a terminal, and leaves no trace: it is cleared before anything
// else is printed.

import type { Clock } from '../../kernel/clock.ts';
import { printableLine } from '../../kernel/printable.ts';
import type { Output } from '../output.ts';
import { cutTo } from './width.ts';

const firstPaintMs = 400;
const betweenPaintsMs = 100;
const clearLine = '\r\u001b[2K';

export class LiveLine implements Disposable {
  readonly #output: Output;
  readonly #clock: Clock;
  #text = '';
  #isPainted = false;
  #timer: Disposable | undefined;

  constructor(output: Output, clock: Clock) {
    this.#output = output;
    this.#clock = clock;
  }

  show(text: string): void {
    if (!this.#output.isTerminal) return;
    this.#text = printableLine(text);
    const delayMs = this.#isPainted ? betweenPaintsMs : firstPaintMs;
    this.#timer ??= this.#clock.after(delayMs, () => this.#paint(), true);
  }

  clear(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    if (this.#isPainted) this.#output.write(clearLine);
    this.#isPainted = false;
  }

  [Symbol.dispose](): void {
    this.clear();
  }

  #paint(): void {
    this.#timer = undefined;
    this.#isPainted = true;
    const text = cutTo(this.#output.columns - 1, `${this.#text} …`);
    this.#output.write(clearLine + this.#output.style('dim', text));
  }
}
