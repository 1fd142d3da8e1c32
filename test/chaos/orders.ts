// What is called, by throw of the dice: mostly small calls that nothing happens to, some that order a
// fault, some large, some given up, some read slowly.

import { join } from 'node:path';
import type { Dice } from '../support/dice.ts';
import { type OrderedFault, someFault, stopReading, takingName } from './faults.ts';
import type { Order } from './order.ts';
import type { ServerSpec } from './servers.ts';

const tools = [
  { tool: 'echo', weight: 40 },
  { tool: 'add', weight: 25 },
  { tool: 'append', weight: 10 },
  { tool: 'set', weight: 10 },
  { tool: 'get', weight: 10 },
  { tool: 'slow', weight: 5 },
] as const;

export class Orders {
  readonly #servers: readonly ServerSpec[];
  readonly #dice: Dice;
  readonly #name: string;
  readonly #claims: string;
  #made = 0;

  /** `claims`: the folder in which faults that may happen only once leave a file. */
  constructor(servers: readonly ServerSpec[], dice: Dice, name: string, claims: string) {
    this.#servers = servers;
    this.#dice = dice;
    this.#name = name;
    this.#claims = claims;
  }

  next(): Order {
    this.#made += 1;
    const spec = this.#dice.weighed(this.#servers);
    const { tool } = this.#dice.weighed(tools);
    const order = { server: spec.name, tool, args: this.#arguments(tool) };
    if (this.#dice.chance(spec.faultShare)) {
      const key = this.#dice.chance(0.1) ? { key: `key-${this.#name}-${this.#made}` } : {};
      return { ...order, ...key, fault: this.#fault(spec) };
    }
    if (this.#dice.chance(0.02)) return { ...order, key: `key-${this.#name}-${this.#made}` };
    if (this.#dice.chance(0.02)) return { ...order, cancelAfterMs: this.#dice.between(0, 600) };
    if (this.#dice.chance(0.004)) return this.#slowlyRead(spec);
    return order;
  }

  /** One that changes something, or takes a while, with a key. */
  keyed(): Order {
    this.#made += 1;
    const spec = this.#dice.weighed(this.#servers);
    const tool = this.#dice.pick(['add', 'append', 'set', 'slow', 'slow', 'echo'] as const);
    const key = `key-${this.#name}-${this.#made}`;
    return { server: spec.name, tool, args: this.#arguments(tool), key };
  }

  /** Makes it come for a name. */
  taking({ name: server }: ServerSpec, name: string): Order {
    return { server, tool: 'echo', args: {}, fault: takingName(name) };
  }

  /** Makes it stop reading. */
  deafening({ name: server }: ServerSpec): Order {
    return { server, tool: 'echo', args: {}, fault: stopReading };
  }

  /** Too large for several of its like to fit into a pipe. */
  large({ name: server }: ServerSpec): Order {
    const tool = this.#dice.pick(['echo', 'add', 'append', 'set'] as const);
    return { server, tool, args: { text: filling(this.#dice.between(100_000, 300_000)) } };
  }

  #slowlyRead({ name: server }: ServerSpec): Order {
    const readAfterMs = this.#dice.between(200, 2500);
    return { server, tool: 'echo', args: { text: filling(250_000) }, readAfterMs };
  }

  #arguments(tool: Order['tool']): Order['args'] {
    if (tool === 'slow') return { ms: this.#dice.between(20, 400) };
    if (tool === 'append' || tool === 'set') return { value: this.#made };
    return tool === 'echo' && this.#dice.chance(0.05)
      ? { text: filling(this.#dice.between(1000, 60_000)) }
      : {};
  }

  /** Half of them spare whoever comes second: a call that is sent once more gets through then. */
  #fault({ transport }: ServerSpec): OrderedFault {
    const ordered = someFault(transport === 'stdio' ? 'stdio' : 'http', this.#dice);
    if (this.#dice.chance(0.5)) return ordered;
    const once = join(this.#claims, `call-${this.#name}-${this.#made}`);
    return { ...ordered, fault: { ...ordered.fault, once } };
  }
}

function filling(bytes: number): string {
  return 'chaos '.repeat(Math.ceil(bytes / 6)).slice(0, bytes);
}
