// The fault plan that applies now: which operation kills the process, which ones fail. Its file is read at
// every operation, so that it can be changed while a process runs. What happened is written to a journal
// before the process is killed.

import { constants } from 'node:os';
import { dirname, join, sep } from 'node:path';

export class CurrentPlan {
  /** Nothing happens to the disk any more. */
  isFrozen = false;
  #file;
  #real;
  #text = '';
  #plan = {};
  #counts = new Map();
  #failed = 0;

  constructor(file, real) {
    this.#file = file;
    this.#real = real;
    this.#look();
  }

  /** Is this a path in the state directory? Takes whatever was given for a path. */
  isOurs(path) {
    if (typeof path !== 'string' && !(path instanceof URL) && !Buffer.isBuffer(path)) return false;
    const text = String(path);
    const { state } = this.#plan;
    // The folder above holds the name of the state directory, which must be forced to the disk as well.
    return text === state || text.startsWith(`${state}${sep}`) || text === dirname(state);
  }

  get backups() {
    return this.#plan.backups ?? null;
  }

  /** The error with which this operation is to fail, if it is. */
  failureOf(op, path) {
    this.#look();
    const { fail } = this.#plan;
    if (!fail || !this.#isMeant(fail, op, path)) return undefined;
    if (fail.times !== null && this.#failed >= fail.times) return undefined;
    this.#failed += 1;
    this.note({ kind: 'failed', op, path, code: fail.code });
    const error = new Error(`${fail.code}: injected, ${op} '${path}'`);
    return Object.assign(error, {
      errno: -constants.errno[fail.code],
      code: fail.code,
      syscall: op,
      path,
    });
  }

  /** The blow that this operation is to take, if it is the one. */
  strikeOn(op, path) {
    const { strike } = this.#plan;
    if (!strike || !this.#isMeant(strike, op, path)) return undefined;
    const count = (this.#counts.get('strike') ?? 0) + 1;
    this.#counts.set('strike', count);
    return count === strike.nth
      ? { when: strike.when, share: strike.share, isPowerCut: strike.isPowerCut }
      : undefined;
  }

  /** From 0 up to 1, from the seed of the plan. */
  chance() {
    this.seed = (Math.imul(this.seed ?? this.#plan.seed ?? 1, 1664525) + 1013904223) >>> 0;
    return this.seed / 2 ** 32;
  }

  note(record) {
    const { journal } = this.#plan;
    if (journal)
      this.#real.appendFileSync(journal, `${JSON.stringify({ pid: process.pid, ...record })}\n`);
  }

  #isMeant({ ops, under }, op, path) {
    const { state } = this.#plan;
    if (ops !== null && !ops.includes(op)) return false;
    return under.some((prefix) => {
      const place = join(state, prefix);
      return path === place || path.startsWith(place);
    });
  }

  #look() {
    if (this.#file === '') return;
    const text = this.#real.readFileSync(this.#file, 'utf8');
    if (text === this.#text) return;
    this.#text = text;
    this.#plan = JSON.parse(text);
    this.#counts.clear();
    this.#failed = 0;
  }
}
