// A connection to a server as the host sees it, played by a test: everything that is said on it is
// written down, and requests are answered when and how the test says.

import { Fault } from '../../src/kernel/fault.ts';
import type { Connection, Greeting, RequestOptions } from '../../src/upstream/connection.ts';
import { Exchange } from '../../src/upstream/exchange.ts';
import type { Era } from '../../src/wire/eras.ts';
import type { Params } from '../../src/wire/frames.ts';
import { scanMessage } from '../../src/wire/scan.ts';
import { carriedText } from './carried-text.ts';

export interface Requested {
  readonly method: string;
  /** JSON text. */
  readonly members: string;
  readonly exchange: Exchange;
}

export class FakeUpstream implements Connection {
  readonly generation: number;
  readonly era: Era;
  readonly protocolVersion = 'any';
  readonly pid = null;
  readonly stderr = [];
  readonly child = undefined;
  readonly greeting: Greeting;
  isLost = false;
  readonly requests: Requested[] = [];
  readonly notes: string[] = [];
  readonly responses: string[] = [];
  /** Requests that were given up. */
  readonly cancelled: string[] = [];

  constructor(era: Era = 'legacy', capabilities: object = {}, generation = 1) {
    this.era = era;
    this.generation = generation;
    this.greeting = {
      era,
      protocolVersion: 'any',
      serverInfo: undefined,
      capabilities: capabilities as Record<string, unknown>,
      instructions: undefined,
    };
  }

  request(method: string, { members }: Params, options?: RequestOptions): Exchange {
    const exchange = new Exchange(this.requests.length + 1, options, () =>
      this.cancelled.push(method),
    );
    exchange.dispatched = 'maybe';
    this.requests.push({ method, members: carriedText(members), exchange });
    return exchange;
  }

  notify(method: string, { members }: Params): void {
    this.notes.push(`${method} {${carriedText(members)}}`);
  }

  respond(answer: string | Buffer): void {
    this.responses.push(answer.toString());
  }

  close(): Promise<number> {
    return Promise.resolve(0);
  }

  probe(): Promise<boolean> {
    return Promise.resolve(true);
  }

  /** Answers the oldest open request of the method: JSON text or a value. */
  answer(method: string, result: unknown, member: 'result' | 'error' = 'result'): void {
    const open = this.requests.find(
      (one) => one.method === method && !one.exchange.isSettled,
    )?.exchange;
    if (!open) throw new Error(`no open ${method}`);
    const json = typeof result === 'string' ? result : JSON.stringify(result);
    open.answered(scanMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"${member}":${json}}`)));
  }

  lose(): void {
    this.isLost = true;
    for (const { exchange } of this.requests) exchange.fail(new Fault('unavailable', 'lost'));
  }

  get methods(): readonly string[] {
    return this.requests.map(({ method }) => method);
  }
}
