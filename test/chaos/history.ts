// What one client saw, in order, one line for each thing: the calls it sent, the answers that came,
// what it gave up and what was cut. It is written while it happens and holds nothing that the client
// did not see itself; whether it was right is for the checker to say.

import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** The record of a fault, as it stood in the answer. */
export type FaultSeen = Readonly<Record<string, unknown>> & { readonly code?: string };

export interface AnswerSeen {
  readonly kind: 'result' | 'tool-error' | 'rpc-error' | 'fault';
  readonly fault?: FaultSeen;
  /** The nonce in the answer, as the fixture's own word. */
  readonly echo?: string;
  /** Of the tool that tells them: the roots that the server knew. */
  readonly roots?: readonly string[];
  /** Of a result under a key: the same text for the same content. */
  readonly digest?: string;
  /** Of a response that says nothing else. */
  readonly status?: number;
  /** The code of an error of the protocol. */
  readonly rpc?: number;
}

export interface CallSent {
  readonly id: number;
  readonly nonce: string;
  readonly server: string;
  readonly tool: string;
  /** Of the whole frame. */
  readonly bytes: number;
  /** Of the arguments alone, which reach the server as they are. */
  readonly argumentBytes: number;
  readonly key?: string;
}

/** A client of a principal that has a role. */
export interface Who {
  readonly token: string;
  readonly path: { readonly kind: 'server' | 'role'; readonly name: string } | null;
  readonly mark: string;
}

const flushAt = 200;

export class History {
  readonly client: string;
  readonly #descriptor: number;
  #lines: string[] = [];
  #isEnded = false;

  constructor(folder: string, client: string) {
    this.client = client;
    this.#descriptor = openSync(join(folder, `history-${client}.jsonl`), 'a');
  }

  /** For a client with a gateway of its own: the name of that process. */
  begin(gateway: string): void {
    this.#write('begin', { gateway });
  }

  call(sent: CallSent): void {
    this.#write('call', sent);
  }

  /** The nonce is null if this client never asked with that id. */
  answer(id: unknown, nonce: string | null, seen: AnswerSeen): void {
    this.#write('answer', { id, nonce, ...seen });
  }

  /** Which roots are this client's, before anybody asks for them. */
  roots(uris: readonly string[]): void {
    this.#write('roots', { uris });
  }

  /** The beginning of the answer has come, and this client leaves the rest unread for a while. */
  unread(id: number): void {
    this.#write('unread', { id });
  }

  /** The client was asked for its roots, and its answer has arrived. */
  told(): void {
    this.#write('told', {});
  }

  /** Whose client this is: the token, the path that narrows it, and the mark of what is made for it. */
  who(who: Who): void {
    this.#write('who', who);
  }

  /** Marks in a message that came; `since`: not before this time was it asked for. */
  marks(since: number, marks: readonly string[]): void {
    this.#write('marks', { since, marks });
  }

  /** A stream that stays open until the gateway ends it, or this client leaves. */
  stream(number: number, state: 'open' | 'closed'): void {
    this.#write('stream', { number, state });
  }

  cancel(id: number, nonce: string): void {
    this.#write('cancel', { id, nonce });
  }

  /** The client itself left, with these calls open. */
  gone(ids: readonly number[]): void {
    this.#write('gone', { ids });
  }

  /** The gateway closed the connection, with these calls open. */
  cut(ids: readonly number[]): void {
    this.#write('cut', { ids });
  }

  /** A request that is no call was broken off by the gateway; it was sent at this time. */
  failed(since: number): void {
    this.#write('failed', { since });
  }

  /** The client has waited for everything it was owed. */
  end(): void {
    if (this.#isEnded) return;
    this.#write('end', {});
    this.#flush();
    closeSync(this.#descriptor);
    this.#isEnded = true;
  }

  #write(event: string, facts: object): void {
    if (this.#isEnded) return; // nobody is there to see it
    this.#lines.push(`${JSON.stringify({ t: monotonicMs(), event, ...facts })}\n`);
    if (this.#lines.length >= flushAt) this.#flush();
  }

  #flush(): void {
    writeSync(this.#descriptor, this.#lines.join(''));
    this.#lines = [];
  }
}

/** The same clock in all processes of this machine. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
