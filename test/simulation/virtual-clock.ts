// Time that moves only when nothing else can run. All that waits, the host's timers and the world's
// own plans, lies in one queue ordered by time and then by the order of asking, so that a run is the
// same on every machine. Each task runs in an immediate of its own, because Node runs an immediate
// only when every tick and every microtask is done, however long their chain: that is the one moment
// at which "nothing else can run" is a fact. What the host itself puts off to the end of a turn runs
// before time moves on. A fault can set the wall clock, but not this time.

import type { Tether } from './tether.ts';

const epoch = 1_800_000_000_000;
const dayMs = 86_400_000;

export class VirtualClock {
  readonly #heap: Task[] = [];
  #now = 0;
  #wallOffset = epoch;
  #leaps = 0;
  #asked = 0;
  #held = 0;
  readonly #turnEnds: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  wallNow(): number {
    return this.#now + this.#wallOffset;
  }

  /** What is planned on a tether is forgotten when the tether is cut. */
  later(ms: number, run: () => void, tether?: Tether, isHosts = false): Disposable {
    const at = this.#now + Math.max(0, ms);
    const task = new Task(at, this.#asked++, run, tether, isHosts);
    this.#insert(task);
    return task;
  }

  /** How often the wall clock was set forward by a day or more: what is kept for a day is over then. */
  get leaps(): number {
    return this.#leaps;
  }

  /** Somebody sets the wall clock. */
  jumpWall(ms: number): void {
    this.#wallOffset += ms;
    if (ms >= dayMs) this.#leaps += 1;
  }

  /**
   * Time stands still until the work is done. For the one thing a host does that is not up to any of
   * its edges: to load a part of its own program when it is first needed.
   */
  async hold<T>(work: Promise<T>): Promise<T> {
    this.#held += 1;
    try {
      return await work;
    } finally {
      this.#held -= 1;
    }
  }

  get isHeld(): boolean {
    return this.#held > 0;
  }

  /** Takes the place of `setImmediate` for as long as a run lasts. */
  readonly atTurnEnd = (task: () => void): void => {
    this.#turnEnds.push(task);
  };

  /** Runs what was put off first; false if nothing was. */
  endTurn(): boolean {
    const task = this.#turnEnds.shift();
    task?.();
    return task !== undefined;
  }

  /** Runs the next task; false if nothing waits any more. */
  step(): boolean {
    for (;;) {
      const task = this.#takeFirst();
      if (task === undefined) return false;
      const { run } = task;
      if (run === undefined || task.tether?.isCut) continue;
      this.#now = task.at;
      task[Symbol.dispose]();
      run();
      return true;
    }
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

/** Something that waits for its time; disposing of it cancels it. */
class Task implements Disposable {
  readonly at: number;
  readonly order: number;
  readonly tether: Tether | undefined;
  /** One of the host's own timers, which are counted. */
  readonly #isHosts: boolean;
  run: (() => void) | undefined;

  constructor(
    at: number,
    order: number,
    run: () => void,
    tether: Tether | undefined,
    isHosts: boolean,
  ) {
    this.at = at;
    this.order = order;
    this.run = run;
    this.tether = tether;
    this.#isHosts = isHosts;
  }

  [Symbol.dispose](): void {
    if (this.run === undefined) return;
    this.run = undefined;
    if (this.#isHosts && this.tether) this.tether.timers -= 1;
  }
}

function isBefore(a: Task, b: Task): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** How many immediates are asked for at once; asking one by one costs a turn of the loop each. */
const batch = 64;

/** Runs until it is said to be over or nothing waits. `settled` is called when each task is done. */
export async function run(
  clock: VirtualClock,
  isOver: () => boolean,
  settled: () => void,
): Promise<void> {
  const { setImmediate } = globalThis;
  globalThis.setImmediate = clock.atTurnEnd as unknown as typeof setImmediate;
  try {
    await turns(clock, isOver, settled, setImmediate);
  } finally {
    globalThis.setImmediate = setImmediate;
  }
}

function turns(
  clock: VirtualClock,
  isOver: () => boolean,
  settled: () => void,
  afterAll: (turn: () => void) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let hasEnded = false;
    let asked = 0;
    const turn = (): void => {
      asked -= 1;
      if (hasEnded) return;
      try {
        if (!clock.endTurn() && !clock.isHeld) {
          settled();
          hasEnded = isOver() || !clock.step();
        }
        if (hasEnded) resolve();
        else if (asked === 0) ask();
      } catch (error) {
        hasEnded = true;
        reject(error);
      }
    };
    const ask = (): void => {
      for (; asked < batch; asked += 1) afterAll(turn);
    };
    ask();
  });
}
