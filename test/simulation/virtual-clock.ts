// Time that moves only when nothing else can run. All that waits, the host's timers and the world's
// own plans, lies in one queue ordered by time and then by the order of asking, so that a run is the
// same on every machine. Each task runs in an immediate of its own, because Node runs an immediate
// only when every tick and every microtask is done, however long their chain: that is the one moment
// at which "nothing else can run" is a fact. A fault can set the wall clock, but not this time.

import type { Clock } from '../../src/kernel/clock.ts';

interface Task extends Disposable {
  readonly at: number;
  readonly order: number;
  readonly isHosts: boolean;
  run: (() => void) | undefined;
}

const epoch = 1_800_000_000_000;

export class VirtualClock implements Clock {
  readonly #heap: Task[] = [];
  #now = 0;
  #wallOffset = epoch;
  #asked = 0;
  #hostTimers = 0;

  now(): number {
    return this.#now;
  }

  wallNow(): number {
    return this.#now + this.#wallOffset;
  }

  /** The host's way in. */
  after(ms: number, task: () => void): Disposable {
    this.#hostTimers += 1;
    return this.#plan(ms, task, true);
  }

  /** The world's own plans; they are not the host's timers and are not counted as such. */
  later(ms: number, task: () => void): Disposable {
    return this.#plan(ms, task, false);
  }

  /** Timers that the host has set and that have neither fired nor been disposed of. */
  get hostTimers(): number {
    return this.#hostTimers;
  }

  /** Somebody sets the wall clock. */
  jumpWall(ms: number): void {
    this.#wallOffset += ms;
  }

  /** Runs the next task; false if nothing waits any more. */
  step(): boolean {
    for (;;) {
      const task = this.#takeFirst();
      if (task === undefined) return false;
      const { run } = task;
      if (run === undefined) continue;
      this.#now = task.at;
      this.#forget(task);
      run();
      return true;
    }
  }

  #plan(ms: number, run: () => void, isHosts: boolean): Disposable {
    const at = this.#now + Math.max(0, ms);
    const task: Task = {
      at,
      order: this.#asked++,
      isHosts,
      run,
      [Symbol.dispose]: () => this.#forget(task),
    };
    this.#insert(task);
    return task;
  }

  #forget(task: Task): void {
    if (task.run !== undefined && task.isHosts) this.#hostTimers -= 1;
    task.run = undefined;
  }

  // --- the queue: a binary heap; what was disposed of is skipped when it comes up ------------

  #insert(task: Task): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(task);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(task, heap[parent] as Task)) break;
      heap[index] = heap[parent] as Task;
      index = parent;
    }
    heap[index] = task;
  }

  #takeFirst(): Task | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    let index = 0;
    for (let child = 1; child < heap.length; child = 2 * index + 1) {
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Task, heap[child] as Task)) {
        child += 1;
      }
      if (!isBefore(heap[child] as Task, last)) break;
      heap[index] = heap[child] as Task;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(a: Task, b: Task): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** How many immediates are asked for at once; asking one by one costs a turn of the loop each. */
const batch = 64;

/** Runs until it is said to be over or nothing waits. `settled` is called when each task is done. */
export function run(
  clock: VirtualClock,
  isOver: () => boolean,
  settled: () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let hasEnded = false;
    let asked = 0;
    const turn = (): void => {
      asked -= 1;
      if (hasEnded) return;
      try {
        settled();
        hasEnded = isOver() || !clock.step();
        if (hasEnded) resolve();
        else if (asked === 0) ask();
      } catch (error) {
        hasEnded = true;
        reject(error);
      }
    };
    const ask = (): void => {
      for (; asked < batch; asked += 1) setImmediate(turn);
    };
    ask();
  });
}
