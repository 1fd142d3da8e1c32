// A run of chaos around honest servers: clients that call, repeat themselves under a key, give up and
// leave, and processes that stall, die and come back, in an order that one seed decides. Whatever the
// order, every answer is true, so the checker must find nothing.

import { HonestServer } from './honest-server.ts';
import { FACTS, PlantedRun } from './run.ts';

const CLIENTS = ['a', 'b', 'c'];

export function honestRun(seed: number, steps: number): PlantedRun {
  return new Chaos(seed).run(steps);
}

class Chaos {
  readonly #run = new PlantedRun();
  readonly #servers: readonly HonestServer[];
  readonly #random: () => number;
  readonly #clientOf = new Map<string, string>();
  /** Calls with a key that have their answer: asked again, they get it again. */
  readonly #kept: (() => void)[] = [];
  readonly #keyed = new Map<string, () => void>();
  #calls = 0;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
    const servers = FACTS.servers.map((server) => ({ ...server, concurrency: 1 + this.#upTo(4) }));
    this.#run.facts = { ...FACTS, servers };
    this.#servers = servers.map((server) => {
      return new HonestServer(this.#run, server, (...answer) => this.#answer(...answer));
    });
  }

  run(steps: number): PlantedRun {
    for (let step = 0; step < steps; step += 1) this.#step();
    for (const server of this.#servers) this.#settle(server);
    return this.#run;
  }

  #step(): void {
    const server = this.#pick(this.#servers);
    const dice = this.#random();
    if (dice < 0.27) this.#call(server);
    else if (dice < 0.3) this.#repeat();
    else if (dice < 0.55) server.dispatch();
    else if (dice < 0.7) server.read(this.#random() < 0.1, this.#upTo(8));
    else if (dice < 0.85) server.work(this.#upTo(8), this.#random() < 0.1);
    else if (dice < 0.88) server.timeOut(this.#upTo(8));
    else if (dice < 0.91) this.#giveUp(server);
    else if (dice < 0.92) this.#leave();
    else if (dice < 0.95) this.#die(server);
    else this.#start(server);
  }

  #call(server: HonestServer): void {
    const nonce = this.#next();
    const isSafe = this.#random() < 0.4;
    const argumentBytes = this.#random() < 0.2 ? this.#upTo(150_000) : 100;
    const of = { server: server.name, tool: isSafe ? 'echo' : 'add', argumentBytes };
    const ask = (more: object) => {
      const client = this.#pick(CLIENTS);
      this.#clientOf.set(nonce, client);
      this.#run.call(nonce, { client, ...of, ...more });
    };
    const isKeyed = this.#random() < 0.2;
    if (isKeyed) this.#keyed.set(nonce, () => ask({ key: nonce }));
    ask(isKeyed ? { key: nonce } : {});
    server.admit(nonce, isSafe, argumentBytes);
  }

  #answer(nonce: string, dispatched: string, say: () => void): void {
    say();
    const ask = this.#keyed.get(nonce);
    if (ask === undefined || dispatched === 'no') return;
    this.#kept.push(() => {
      ask();
      say();
    });
  }

  #repeat(): void {
    if (this.#kept.length > 0) this.#pick(this.#kept)();
  }

  #giveUp(server: HonestServer): void {
    if (server.open.length === 0) return;
    const { nonce } = this.#pick(server.open);
    this.#run.cancel(nonce);
    server.abandon(nonce);
  }

  /** Client a goes away, and comes back for new calls. */
  #leave(): void {
    const open = this.#servers.flatMap((server) => server.open.map(({ nonce }) => nonce));
    const own = open.filter((nonce) => this.#clientOf.get(nonce) === 'a');
    this.#run.leave('gone', ...own);
    for (const server of this.#servers) for (const nonce of own) server.abandon(nonce);
  }

  #die(server: HonestServer): void {
    if (!server.isUp) return;
    if (!server.isPipe) this.#run.window('down', server.name);
    server.die();
    if (!server.isPipe && this.#random() < 0.5) this.#meetDeadSocket(server.name);
  }

  /** A call that is written to a connection of which the gateway does not know yet that it is dead. */
  #meetDeadSocket(server: string): void {
    const nonce = this.#next();
    this.#run.call(nonce, { server }).fault(nonce, 'outcome_unknown', 'maybe');
  }

  #next(): string {
    this.#calls += 1;
    return `n${this.#calls}`;
  }

  #start(server: HonestServer): void {
    if (server.isUp) return;
    if (!server.isPipe) this.#run.window('up', server.name);
    server.start();
  }

  /** The faults stop: everything that is open is answered. */
  #settle(server: HonestServer): void {
    this.#start(server);
    while (server.open.length > 0) {
      server.dispatch();
      server.read(false, 0);
      server.work(0, false);
    }
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#upTo(list.length)] as T;
  }

  #upTo(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

/** mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
