// What the clients of a rollout's proof saw: each call with how it ended, when each short one was answered, and what no
// client may see. The verdict is made of this and of the servers' ledgers alone (judge.ts).

export type Kind = 'effect' | 'read' | 'long' | 'question';

export interface Order {
  readonly kind: Kind;
  readonly nonce: string;
  /** As the gateway offers it. */
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface Settled extends Order {
  readonly client: string;
  readonly began: number;
  readonly ended: number;
  /** `foreign`: the answer was made for another call. */
  readonly outcome: 'answered' | 'failed' | 'foreign';
  readonly detail: string;
}

export interface Pause {
  readonly client: string;
  readonly ms: number;
  /** Since the beginning of the history. */
  readonly at: number;
}

export class History {
  readonly settled: Settled[] = [];
  readonly findings: string[] = [];
  /** How often each client had to say hello; a few. */
  readonly hellos = new Map<string, number>();
  /** Of the clients: the last answer of a short call. */
  readonly #lastAnswers = new Map<string, number>();
  readonly #longest = new Map<string, Pause>();
  readonly #open = new Map<string, { readonly client: string; readonly order: Order }>();
  readonly #began = performance.now();

  hello(client: string): void {
    this.hellos.set(client, (this.hellos.get(client) ?? 0) + 1);
  }

  /** What a client must not see. */
  saw(client: string, what: string): void {
    this.findings.push(`${client}, ${Math.round(performance.now() - this.#began)} ms: ${what}`);
  }

  /** Begins a call; the function that it gives says what came of it: an answer, or why there is none. */
  begin(client: string, order: Order): (answer: unknown, failure?: string) => void {
    const began = performance.now();
    this.#open.set(order.nonce, { client, order });
    return (answer, failure) => {
      if (!this.#open.delete(order.nonce)) return this.saw(client, `${order.nonce} ended twice`);
      const ended = performance.now();
      const detail = failure ?? failureIn(answer);
      const isForeign = detail === '' && !isFor(order, answer);
      const outcome = detail !== '' ? 'failed' : isForeign ? 'foreign' : 'answered';
      const shown = isForeign ? JSON.stringify(answer) : detail;
      const call = {
        ...order,
        client,
        began,
        ended,
        outcome,
        detail: shown.slice(0, 400),
      } as const;
      this.settled.push(call);
      if (outcome === 'answered') this.#answered(call);
    };
  }

  /** Calls that nobody has answered. */
  get open(): readonly string[] {
    return [...this.#open].map(
      ([nonce, { client, order }]) => `${client} ${nonce} (${order.kind})`,
    );
  }

  /** A client pauses or leaves by itself: that is no pause of the gateway. */
  rests(client: string): void {
    this.#lastAnswers.delete(client);
  }

  /** The longest of each client, the longest first. */
  get pauses(): readonly Pause[] {
    return [...this.#longest.values()].sort((a, b) => b.ms - a.ms);
  }

  #answered({ client, kind, ended }: Settled): void {
    if (kind === 'long' || kind === 'question') return;
    const last = this.#lastAnswers.get(client);
    this.#lastAnswers.set(client, ended);
    if (last === undefined || ended - last <= (this.#longest.get(client)?.ms ?? 0)) return;
    this.#longest.set(client, { client, ms: ended - last, at: ended - this.#began });
  }
}

interface Answer {
  readonly isError?: unknown;
  readonly content?: unknown;
  readonly structuredContent?: Readonly<Record<string, unknown>>;
}

/** Empty if it is a result of the tool. */
function failureIn(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return `no result: ${JSON.stringify(answer)}`;
  return (answer as Answer).isError === true ? JSON.stringify(answer) : '';
}

function isFor({ kind, nonce, args }: Order, answer: unknown): boolean {
  const { structuredContent: found = {} } = answer as Answer;
  switch (kind) {
    case 'effect':
      return found['key'] === nonce && found['value'] === 1;
    case 'read':
      return found['nonce'] === nonce;
    case 'long':
      return found['ms'] === args['ms'];
    case 'question':
      return JSON.stringify(found).includes(`"name":"${nonce}"`);
  }
}
