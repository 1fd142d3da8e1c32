// What the clients of a rollout's proof ask for, one after the other: mostly short calls, half of them with an effect
// that must not be repeated, now and then one of a second and a half that goes over the fence, and of clients that can
// be asked one in which its server asks.

import type { Kind, Order } from './history.ts';

let made = 0;

const longMs = 1_500;

export interface Taste {
  /** Can it be asked? */
  readonly isAsked: boolean;
  /** One of so many calls is long. */
  readonly longEvery: number;
  readonly servers: readonly string[];
}

export class Orders {
  readonly #taste: Taste;
  #count = 0;

  constructor(taste: Taste) {
    this.#taste = taste;
  }

  /** What it may ask, of every server; short. */
  everyKind(): readonly Order[] {
    const { isAsked, servers } = this.#taste;
    const questions = isAsked ? [order('question', 'asker')] : [];
    return [
      ...servers.flatMap((server) => [order('effect', server), order('read', server)]),
      ...questions,
    ];
  }

  next(): Order {
    this.#count += 1;
    const { isAsked, longEvery, servers } = this.#taste;
    const server = servers[this.#count % servers.length] ?? 'own';
    if (this.#count % longEvery === 0) return order('long', server);
    if (isAsked && this.#count % 25 === 7) return order('question', 'asker');
    return order(this.#count % 2 === 0 ? 'effect' : 'read', server);
  }
}

function order(kind: Kind, server: string): Order {
  made += 1;
  const nonce = `n${made}-${kind}`;
  const common = { kind, nonce } as const;
  switch (kind) {
    case 'effect':
      return { ...common, tool: `${server}__add`, args: { nonce, key: nonce, amount: 1 } };
    case 'read':
      return { ...common, tool: `${server}__echo`, args: { nonce, text: nonce } };
    case 'long':
      return {
        ...common,
        tool: `${server}__slow`,
        args: { nonce, ms: longMs + (made % 10_000) / 100_000 },
      };
    case 'question':
      return {
        ...common,
        tool: `${server}__ask`,
        args: { nonce, method: 'elicitation/create', params: question(nonce) },
      };
  }
}

/** It is answered with a name: the message itself. */
function question(message: string) {
  const properties = { name: { type: 'string' } };
  return {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties, required: ['name'] },
  };
}
