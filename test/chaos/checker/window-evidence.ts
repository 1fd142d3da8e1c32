// The third kind of a wrong `dispatched` over HTTP: a call whose whole life lies in a time in which
// nothing listened on its server's port can have been handed to nobody, so it must say `no`.
//
// One exception has to be left out. When a server dies, the gateway may hold idle connections to it;
// until its event loop has seen them end, a request may be written to one, and that is `maybe` by the
// contract: it was handed to a socket. The end of such a connection is in the kernel before the server
// is seen dead. A call of any client, to any server, that was sent after that and has been answered
// went through the loop after the end was there to be read; calls sent after that answer cannot meet
// such a connection any more. Only those are judged. It needs no duration.
//
// The driver's side of it: "down" is written after the process was seen dead, "up" before the next one is
// started; the ports are outside the range from which the kernel takes its own (or a connect to a port
// that nobody listens on may meet itself).

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Call, named } from './call.ts';
import type { Facts } from './facts.ts';
import { jsonLines } from './json-lines.ts';
import type { Trace } from './ledger-book.ts';
import type { Verdict } from './verdict.ts';

const SHOWN = 'never left, while nothing listened';

interface Window {
  readonly server: string;
  readonly downAt: number;
  upAt: number;
  readonly place: string;
  /** By gateway: when the first call that was sent in the window was answered. */
  readonly clearAt: Map<string, number>;
}

export class WindowEvidence {
  readonly #verdict: Verdict;
  readonly #windows: Window[] = [];
  readonly #inside: { call: Call; window: Window; sentAt: number; wasReceived: boolean }[] = [];

  constructor(directory: string, facts: Facts, verdict: Verdict) {
    this.#verdict = verdict;
    verdict.adds(SHOWN, 0);
    const file = join(directory, 'windows.jsonl');
    const isNeeded = [...facts.servers.values()].some(({ transport }) => transport === 'http');
    if (existsSync(file)) this.#read(file);
    else if (isNeeded) verdict.violates('evidence', 'there are HTTP servers, but no windows.jsonl');
  }

  /** Any call; `sentAt` is when the first call of its nonce was sent. */
  take(call: Call, trace: Trace, sentAt: number): void {
    const answer = call.answers[0];
    if (answer === undefined) return;
    for (const window of this.#windows) {
      const isWithin = call.sentAt > window.downAt && answer.at < window.upAt;
      if (!isWithin) continue;
      const clearAt = window.clearAt.get(call.gateway) ?? Number.POSITIVE_INFINITY;
      window.clearAt.set(call.gateway, Math.min(clearAt, answer.at));
      if (window.server !== call.server || sentAt <= window.downAt) continue;
      const wasReceived = trace.receipts.length > 0;
      // What is said again under its key may be received then; the ledger does not tell which it was.
      if (wasReceived && call.key !== undefined) continue;
      this.#inside.push({ call, window, sentAt, wasReceived });
    }
  }

  judge(): void {
    for (const { call, window, sentAt, wasReceived } of this.#inside) {
      const { clearAt, place } = window;
      if (wasReceived) {
        const finding = `${named(call)} was received, though nothing listened (${place})`;
        this.#verdict.violates('evidence', finding);
      }
      if (sentAt <= (clearAt.get(call.gateway) ?? Number.POSITIVE_INFINITY)) continue;
      this.#verdict.adds(SHOWN);
      if (wasReceived || call.answers[0]?.fault?.dispatched !== 'maybe') continue;
      const finding = `${named(call)}: nothing listened during its whole life (${place})`;
      this.#verdict.violates('maybeNeverLeft', finding);
    }
  }

  #read(file: string): void {
    const open = new Map<string, Window>();
    for (const line of jsonLines(file)) {
      const place = `windows.jsonl:${line.number}`;
      if (line.kind === 'torn') {
        this.#verdict.violates('evidence', `${place} is torn: ${line.text}`);
        continue;
      }
      const { t, event } = line.value;
      const server = String(line.value['server']);
      const window = open.get(server);
      if (event === 'down' && window === undefined) {
        const [downAt, upAt] = [Number(t), Number.POSITIVE_INFINITY];
        const opened = { server, downAt, upAt, place, clearAt: new Map<string, number>() };
        open.set(server, opened);
        this.#windows.push(opened);
      } else if (event === 'up' && window !== undefined) {
        window.upAt = Number(t);
        open.delete(server);
      } else {
        this.#verdict.violates('evidence', `${place}: ${event} of ${server} is out of turn`);
      }
    }
  }
}
