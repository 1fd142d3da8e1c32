// How much of the machine's processor time others take: a pause at a moment at which other programs kept the machine
// busy says nothing about the gateway. Ours is everything below this process: clients, gateways and servers.

import { readdirSync, readFileSync } from 'node:fs';

interface Times {
  /** In ticks, of all processors. */
  readonly total: number;
  readonly idle: number;
  readonly ours: number;
}

interface Sample {
  readonly at: number;
  readonly times: Times;
}

/** Of all processor time: what others took, and what nobody did. */
export interface Shares {
  readonly others: number;
  readonly idle: number;
}

const everyMs = 200;
/** With more than this left, or less than that taken, nobody was kept waiting by others. */
const muchIdle = 0.1;
const littleTaken = 0.1;

export class BusyMachine implements Disposable {
  /** Five for each second of the proof. */
  readonly #samples: Sample[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#look();
    this.#timer = setInterval(() => this.#look(), everyMs);
  }

  /** Over all that it has seen. */
  get shares(): Shares {
    return this.#between(this.#samples.at(0), this.#samples.at(-1));
  }

  /** Did others keep the machine busy in this time, and one look before and after it? */
  wasBusyWithOthers(from: number, to: number): boolean {
    const before = this.#samples.findLast(({ at }) => at <= from) ?? this.#samples.at(0);
    const after = this.#samples.find(({ at }) => at >= to) ?? this.#samples.at(-1);
    const { others, idle } = this.#between(before, after);
    return others > littleTaken && idle < muchIdle;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    this.#samples.push({ at: performance.now(), times: timesNow() });
  }

  #between(before: Sample | undefined, after: Sample | undefined): Shares {
    if (before === undefined || after === undefined) return { others: 0, idle: 1 };
    const total = after.times.total - before.times.total;
    if (total <= 0) return { others: 0, idle: 1 };
    const idle = after.times.idle - before.times.idle;
    const ours = after.times.ours - before.times.ours;
    return { others: Math.max(0, total - idle - ours) / total, idle: idle / total };
  }
}

/** Columns of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal; what follows is part of the first. */
function timesNow(): Times {
  const [first = ''] = readFileSync('/proc/stat', 'latin1').split('\n');
  const columns = first.split(/\s+/).slice(1, 9).map(Number);
  const [, , , idle = 0, waiting = 0] = columns;
  const total = columns.reduce((sum, one) => sum + one, 0);
  return { total, idle: idle + waiting, ours: oursNow() };
}

interface Row {
  readonly parent: number;
  readonly ticks: number;
}

/** With what ended children have used: it is counted at their parents. */
function oursNow(): number {
  const rows = new Map<number, Row>();
  for (const name of readdirSync('/proc')) {
    const row = /^\d+$/.test(name) ? rowOf(name) : undefined;
    if (row !== undefined) rows.set(Number(name), row);
  }
  const isOurs = (pid: number): boolean => {
    for (let at = pid; at > 1; at = rows.get(at)?.parent ?? 0) if (at === process.pid) return true;
    return false;
  };
  let sum = 0;
  for (const [pid, { ticks }] of rows) if (isOurs(pid)) sum += ticks;
  return sum;
}

function rowOf(name: string): Row | undefined {
  try {
    const text = readFileSync(`/proc/${name}/stat`, 'latin1');
    const columns = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const ticks = columns.slice(11, 15).reduce((sum, one) => sum + one, 0);
    return { parent: columns[1] ?? 0, ticks };
  } catch {
    // It has ended.
    return undefined;
  }
}
