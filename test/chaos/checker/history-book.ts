// What one client saw, line by line, gathered into calls. The client wrote every answer that came, so
// an answer to an id that it never asked, or to its id in another JSON type ("1" for 1), shows here. A
// history that stops before its end proves nothing about the calls still open in it: that is a gap in
// the evidence, not a loss.

import { basename } from 'node:path';
import type { Who } from './access-book.ts';
import { type Answer, type Call, faultRecord } from './call.ts';
import type { Facts } from './facts.ts';
import { type JsonObject, jsonLines } from './json-lines.ts';
import type { Holding, Stream, Told } from './principal-rules.ts';
import type { Failed } from './rollout-rules.ts';
import type { ClientRoots } from './roots-rules.ts';
import type { Verdict } from './verdict.ts';

/** What a client's frame may have that ours to the server need not: its envelope, names, `_meta`. */
const ENVELOPE_BYTES = 1024;

export interface History {
  readonly calls: readonly Call[];
  readonly isEnded: boolean;
  readonly roots: ClientRoots;
  /** Of a client with a token. */
  readonly holding: Holding | undefined;
  /** Requests that are no calls, and got no response. */
  readonly failed: readonly Failed[];
}

export function readHistory(file: string, facts: Facts, verdict: Verdict): History {
  const reader = new HistoryReader(basename(file), facts, verdict);
  for (const line of jsonLines(file)) {
    if (line.kind === 'torn') reader.gap(line.number, `is torn: ${line.text}`);
    else reader.take(line.value, line.number);
  }
  if (!reader.isEnded) verdict.violates('evidence', `${basename(file)} does not end with "end"`);
  const { calls, isEnded, roots, holding, failed } = reader;
  return { calls, isEnded, roots, holding, failed };
}

class HistoryReader {
  readonly calls: Call[] = [];
  readonly failed: Failed[] = [];
  isEnded = false;
  readonly roots: ClientRoots = { uris: [], toldAt: undefined };
  readonly #file: string;
  readonly #client: string;
  #gateway: string;
  readonly #verdict: Verdict;
  readonly #byId = new Map<string, Call>();
  readonly #told: Told[] = [];
  readonly #streams = new Map<unknown, Stream>();
  #who: Who | undefined;
  #lastAt = 0;

  constructor(file: string, facts: Facts, verdict: Verdict) {
    this.#file = file;
    this.#client = file.replace(/^history-|\.jsonl$/g, '');
    this.#gateway = facts.gatewayOf(this.#client);
    this.#verdict = verdict;
  }

  take(line: JsonObject, number: number): void {
    if (typeof line['t'] !== 'number') return this.gap(number, 'has no time');
    if (this.isEnded && line['event'] !== 'answer') this.gap(number, 'comes after the end');
    this.#lastAt = line['t'];
    switch (line['event']) {
      case 'begin':
        if (this.calls.length > 0) this.gap(number, 'comes after the first call');
        this.#gateway = String(line['gateway']);
        return;
      case 'call':
        return this.#call(line, number);
      case 'answer':
        return this.#answer(line, number);
      case 'roots':
        return this.#roots(line['uris'], number);
      case 'told':
        this.roots.toldAt ??= line['t'];
        return;
      case 'unread':
        return this.#unread(line['id'], number, line['t']);
      case 'failed':
        return this.#failed(line['since'], number, line['t']);
      case 'cancel':
        return this.#turn([line['id']], 'cancelled', number, line['t']);
      case 'gone':
      case 'cut':
        return this.#turn(line['ids'], line['event'], number, line['t']);
      case 'who':
        this.#who = whoIn(line);
        return;
      case 'marks':
        return this.#marks(line, number, line['t']);
      case 'stream':
        return this.#stream(line, number, line['t']);
      case 'end':
        this.isEnded = true;
        return;
      default:
        return this.gap(number, `has an event that is not known: ${JSON.stringify(line['event'])}`);
    }
  }

  /** What a client with a token was told; a stream that nobody closed was open to the end. */
  get holding(): Holding | undefined {
    if (this.#who === undefined) return undefined;
    const streams = [...this.#streams.values()].map(({ closedAt, place }) => {
      return { closedAt: Math.min(closedAt, this.#lastAt), place };
    });
    return { client: this.#client, who: this.#who, told: this.#told, streams };
  }

  gap(number: number, what: string): void {
    this.#verdict.violates('evidence', `${this.#place(number)} ${what}`);
  }

  #call(line: JsonObject, number: number): void {
    const { t, nonce, server, tool, bytes, argumentBytes, key } = line;
    const id = JSON.stringify(line['id']);
    if (typeof nonce !== 'string' || typeof server !== 'string' || typeof tool !== 'string') {
      return this.gap(number, 'is a call without nonce, server or tool');
    }
    if (this.#byId.has(id)) this.gap(number, `uses the id ${id} again: whose is its answer?`);
    const call: Call = {
      client: this.#client,
      gateway: this.#gateway,
      who: this.#who,
      id,
      nonce,
      server,
      tool,
      leastBytes: Math.max(0, Number(argumentBytes ?? Number(bytes ?? 0) - ENVELOPE_BYTES)),
      key: typeof key === 'string' ? key : undefined,
      sentAt: Number(t),
      place: this.#place(number),
      answers: [],
      fate: 'open',
    };
    this.#byId.set(id, call);
    this.calls.push(call);
  }

  #answer(line: JsonObject, number: number): void {
    const { t, kind, fault, echo, roots, digest } = line;
    const id = JSON.stringify(line['id']);
    const answer: Answer = {
      at: Number(t),
      place: this.#place(number),
      kind,
      fault: faultRecord(fault),
      echo,
      roots,
      digest,
    };
    const call = this.#byId.get(id);
    if (call !== undefined) call.answers.push(answer);
    else this.#unasked(line['id'], answer);
  }

  #marks({ since, marks }: JsonObject, number: number, at: number): void {
    if (!Array.isArray(marks)) return this.gap(number, 'has no marks');
    const from = Number(since);
    this.#told.push({ marks: marks.map(String), from, to: at, place: this.#place(number) });
  }

  #stream({ number: which, state }: JsonObject, number: number, at: number): void {
    const stream = this.#streams.get(which);
    const place = this.#place(number);
    if (stream !== undefined) stream.closedAt = at;
    else if (state === 'open') {
      this.#streams.set(which, { closedAt: Number.POSITIVE_INFINITY, place });
    }
  }

  #roots(uris: unknown, number: number): void {
    if (!Array.isArray(uris)) return this.gap(number, 'names no roots');
    if (this.calls.length > 0) this.gap(number, 'comes after the first call');
    this.roots.uris = uris;
  }

  /** No call has this id. If one has it in another type, the client got it back changed. */
  #unasked(id: unknown, { place, kind }: Answer): void {
    const meant = [JSON.stringify(String(id)), String(id)].map((text) => this.#byId.get(text));
    const call = meant.find((found) => found !== undefined);
    const what = `client ${this.#client}, ${place} ${kind}`;
    if (call === undefined) {
      this.#verdict.violates('beyondFirst', `${what}: nobody asked ${JSON.stringify(id)}`);
    } else {
      const changed = `the id ${call.id} came back as ${JSON.stringify(id)}`;
      this.#verdict.violates('wrongAnswer', `${what}: ${changed}, call ${call.nonce}`);
    }
  }

  #failed(since: unknown, number: number, at: number): void {
    const [client, gateway, place] = [this.#client, this.#gateway, this.#place(number)];
    this.failed.push({ client, gateway, since: Number(since), at, place });
  }

  #unread(id: unknown, number: number, at: number): void {
    const call = this.#byId.get(JSON.stringify(id));
    if (call === undefined) this.gap(number, `names an id never asked: ${JSON.stringify(id)}`);
    else call.unreadAt = at;
  }

  #turn(ids: unknown, fate: 'cancelled' | 'gone' | 'cut', number: number, at: number): void {
    if (!Array.isArray(ids)) return this.gap(number, 'names no ids');
    for (const id of ids) {
      const call = this.#byId.get(JSON.stringify(id));
      if (call === undefined) this.gap(number, `names an id never asked: ${JSON.stringify(id)}`);
      else if (call.fate === 'open') Object.assign(call, { fate, turnedAt: at });
    }
  }

  #place(number: number): string {
    return `${this.#file}:${number}`;
  }
}

function whoIn({ token, path, mark }: JsonObject): Who {
  return { token: String(token), path: path as Who['path'], mark: String(mark) };
}
