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

/** Between two answers of short calls of one client; both moments by this process's clock. */
export interface Pause {
  readonly client: string;
  readonly from: number;
  readonly to: number;
}

/** Shorter ones are not kept. */
const pauseMs = 200;

export class History {
  readonly settled: Settled[] = [];
  readonly findings: string[] = [];
  /** How often each client had to say hello; a few. */
  readonly hellos = new Map<string, number>();
  /** Of the clients: the last answer of a short call. */
  readonly #lastAnswers = new Map<string, number>();
  /** About one for each client and rollout. */
  readonly #pauses: Pause[] = [];
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

  /** The longest first. */
  get pauses(): readonly Pause[] {
    return [...this.#pauses].sort((a, b) => b.to - b.from - (a.to - a.from));
  }

  /** How long the answers of short calls took, in ms, the shortest first. */
  get waits(): readonly number[] {
    return this.settled
      .filter(({ kind, outcome }) => isShort(kind) && outcome === 'answered')
      .map(({ began, ended }) => ended - began)
      .sort((a, b) => a - b);
  }

  #answered({ client, kind, ended: to }: Settled): void {
    if (!isShort(kind)) return;
    const from = this.#lastAnswers.get(client);
    this.#lastAnswers.set(client, to);
    if (from !== undefined && to - from >= pauseMs) this.#pauses.push({ client, from, to });
  }
}

function isShort(kind: Kind): boolean {
  return kind !== 'long' && kind !== 'question';
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
