// The open calls of one client. Whatever happens to a call passes through here, and so into the
// history and the tally; how bytes travel is left to the clients.

import type { Era } from './dialects.ts';
import { ability, requestFrame } from './dialects.ts';
import { type AnswerSeen, type History, monotonicMs } from './history.ts';
import type { Order } from './order.ts';
import type { Identity } from './principals/identity.ts';
import { digestOf, type Message, seenIn } from './seen.ts';
import type { Tally } from './tally.ts';

export interface OpenCall {
  readonly id: number;
  readonly nonce: string;
  readonly order: Order;
  readonly frame: string;
  /** Resolves when nothing more is owed for it, to the answer if there was one. */
  readonly settled: Promise<AnswerSeen | undefined>;
}

interface Entry {
  readonly call: OpenCall;
  readonly begunMs: number;
  readonly settle: (seen?: AnswerSeen) => void;
}

export class CallBook {
  readonly #ability: object;
  readonly #history: History;
  readonly #tally: Tally;
  readonly #era: Era;
  readonly #identity: Identity | undefined;
  readonly #open = new Map<number, Entry>();
  /** Of all calls ever, because an answer may come a second time or too late. */
  readonly #nonces = new Map<number, string>();
  #lastId = 0;

  constructor(
    history: History,
    tally: Tally,
    era: Era,
    capabilities: object = {},
    identity?: Identity,
  ) {
    this.#ability = era === 'modern' ? ability(capabilities) : {};
    this.#history = history;
    this.#tally = tally;
    this.#era = era;
    this.#identity = identity;
  }

  get openCount(): number {
    return this.#open.size;
  }

  begin(order: Order): OpenCall {
    this.#lastId += 1;
    const id = this.#lastId;
    const { server, tool, args, fault, key } = order;
    // With a key it is the same call each time it is said.
    const nonce = this.#nonceOf(id, key);
    // Named after the call, so that the answer tells whose it is.
    const keyed = tool === 'add' || tool === 'append' || tool === 'set' ? { key: nonce } : {};
    const ordered = fault === undefined ? {} : { fault: fault.fault };
    // What may be kept is said alike by all: there the nonce stands beside the arguments.
    const isAlike = tool === 'roots' || order.isAlike === true;
    const whom = this.#identity === undefined ? {} : { 'test/for': this.#identity.who.mark };
    const said = isAlike ? args : { ...args, ...keyed, nonce, ...ordered };
    const params = { name: this.nameOf(order), arguments: said };
    const meta = {
      ...whom,
      ...(isAlike ? { 'test/nonce': nonce } : {}),
      ...(key === undefined ? {} : { 'holdfast/idempotencyKey': key }),
    };
    const frame = requestFrame(this.#era, id, 'tools/call', params, { ...this.#ability, ...meta });
    const bytes = Buffer.byteLength(frame);
    const argumentBytes = Buffer.byteLength(JSON.stringify(said));
    const { settled, settle } = withResolvers();
    const call = { id, nonce, order, frame, settled };
    this.#open.set(id, { call, begunMs: monotonicMs(), settle });
    this.#nonces.set(id, nonce);
    const sent = { id, nonce, server, tool, bytes, argumentBytes };
    this.#history.call(key === undefined ? sent : { ...sent, key: nonce });
    this.#tally.called(nonce, order);
    return call;
  }

  /** How its client names the tool. */
  nameOf({ server, tool }: Order): string {
    return this.#identity?.nameOf(server, tool) ?? `${server}__${tool}`;
  }

  /** A message that came, if it is an answer. */
  heard(message: Message): void {
    if (message.method !== undefined || message.id === undefined) return;
    const { id } = message;
    const nonce = typeof id === 'number' ? (this.#nonces.get(id) ?? null) : null;
    const entry = typeof id === 'number' ? this.#open.get(id) : undefined;
    const isKeyed = entry?.call.order.key !== undefined && message.result !== undefined;
    const seen = { ...seenIn(message), ...(isKeyed ? { digest: digestOf(message) } : {}) };
    this.#history.answer(id, nonce, seen);
    if (entry === undefined) return;
    this.#tally.answered(seen, monotonicMs() - entry.begunMs);
    this.#close(entry, seen);
  }

  /** An answer that says which call it is for only by where it came. */
  refused({ id, nonce }: OpenCall, status: number): void {
    const seen = { kind: 'rpc-error', status } as const;
    this.#history.answer(id, nonce, seen);
    const entry = this.#open.get(id);
    if (entry === undefined) return;
    this.#tally.answered(seen, monotonicMs() - entry.begunMs);
    this.#close(entry, seen);
  }

  isOpen({ id }: OpenCall): boolean {
    return this.#open.has(id);
  }

  /** Its answer has begun, and is not read for a while. */
  unread({ id }: OpenCall): void {
    this.#history.unread(id);
  }

  /** The client gives this one up. False if it was settled before. */
  cancel({ id, nonce }: OpenCall): boolean {
    const entry = this.#open.get(id);
    if (entry === undefined) return false;
    this.#history.cancel(id, nonce);
    this.#tally.happened('client cancels');
    this.#close(entry);
    return true;
  }

  /** The client has broken its connection, or lost its gateway by our own hand. */
  gone(how: 'client vanishes' | 'kill -9 of a gateway'): void {
    this.#history.gone([...this.#open.keys()]);
    this.#tally.happened(how);
    for (const entry of this.#open.values()) this.#close(entry);
  }

  /** The gateway closed the connection on which these were open. */
  cut(calls: readonly OpenCall[]): void {
    const lost = calls.filter((call) => this.isOpen(call));
    if (lost.length === 0) return;
    this.#history.cut(lost.map(({ id }) => id));
    for (const { id } of lost) {
      const entry = this.#open.get(id);
      if (entry !== undefined) this.#close(entry);
    }
  }

  get openCalls(): readonly OpenCall[] {
    return [...this.#open.values()].map(({ call }) => call);
  }

  end(): void {
    this.#history.end();
  }

  /** The same for the same key, but a key means nothing to another principal or on another path. */
  #nonceOf(id: number, key: string | undefined): string {
    if (key === undefined) return `${this.#history.client}-${id}`;
    return this.#identity === undefined ? key : `${this.#identity.who.mark} ${key}`;
  }

  #close(entry: Entry, seen?: AnswerSeen): void {
    this.#open.delete(entry.call.id);
    entry.settle(seen);
  }
}

function withResolvers() {
  let settle: (seen?: AnswerSeen) => void = () => {};
  const settled = new Promise<AnswerSeen | undefined>((resolve) => {
    settle = resolve;
  });
  return { settled, settle };
}
