// The running servers on their way from one serving process to the next: how they are written into a snapshot and
// read, and what both sides say to each other afterwards about each of them, over the link. From the former: a line for
// the server, over HTTP that it has begun an exchange, and that it has no calls there any more. From the successor: a
// line of the server for the former, and that the server is gone.

import type {
  ConnectionToFormer,
  HandedServerConnection,
  RestoredConnection,
} from '../../../host/handover/handed-host.ts';
import { ignored } from '../../../kernel/contain.ts';
import { Fault, type FaultCode, faultTable } from '../../../kernel/fault.ts';
import { isRecord } from '../../../kernel/json-values.ts';
import type { JsonValue, Link } from '../../../rollout/link.ts';
import type { SnapshotPart } from '../../../rollout/snapshot.ts';
import {
  type AdoptedConnection,
  connectionStateFrom,
  type FormerCalls,
  firstIdAfter,
  type HandedConnection,
  type RestOfCalls,
} from '../../../upstream/handed-connection.ts';

export const connectionsPart = 'connections';
const kind = 'server';

/** One connection in the snapshot; its bytes follow those of the one before. */
interface Written {
  readonly id: number;
  readonly state: JsonValue;
  readonly child: JsonValue;
  /** Of what is unread, of stdout and of stderr. */
  readonly lengths: readonly [number, number, number];
  readonly mayHaveCalls: boolean;
}

/** At the former. */
export class GivenServers {
  readonly #link: Link;
  /** By number, until this process ends. */
  readonly #rests = new Map<number, RestOfCalls>();
  readonly #written: Written[] = [];
  readonly #bytes: Buffer[] = [];

  constructor(link: Link) {
    this.#link = link;
    link.on(kind, (head, payload) => this.#heard(head, payload));
    const lost = () => {
      const gone = new Fault('unavailable', 'the process that has taken over is gone');
      for (const rest of this.#rests.values()) rest.lost(gone);
    };
    link.closed.then(lost).catch(ignored);
  }

  get count(): number {
    return this.#rests.size;
  }

  give({ id, handed, rest }: HandedServerConnection): ConnectionToFormer {
    const { state, child, unread } = handed;
    const { stdout = Buffer.alloc(0), stderr = Buffer.alloc(0) } = child ?? {};
    this.#rests.set(id, rest);
    this.#bytes.push(unread, stdout, stderr);
    this.#written.push({
      id,
      state: state as unknown as JsonValue,
      child: child === undefined ? null : (child.state as unknown as JsonValue),
      lengths: [unread.length, stdout.length, stderr.length],
      mayHaveCalls: rest.mayHaveCalls,
    });
    if (rest.mayHaveCalls) this.#whenEmpty(id, rest);
    return {
      write: (line) => {
        this.#link.send(kind, { id, say: 'line' }, line);
        this.#whenEmpty(id, rest);
      },
      begun: () => {
        this.#link.send(kind, { id, say: 'begun' });
        this.#whenEmpty(id, rest);
      },
    };
  }

  /** Everything that was given, for the snapshot. */
  part(): SnapshotPart {
    const data = this.#written as unknown as JsonValue;
    return { name: connectionsPart, data, bytes: Buffer.concat(this.#bytes) };
  }

  #whenEmpty(id: number, rest: RestOfCalls): void {
    const empty = () => {
      if (!rest.mayHaveCalls) this.#link.send(kind, { id, say: 'empty' });
    };
    rest.whenEmpty().then(empty).catch(ignored);
  }

  #heard(head: unknown, payload: Buffer): void {
    const { id, say, fault } = isRecord(head) ? head : {};
    const rest = typeof id === 'number' ? this.#rests.get(id) : undefined;
    if (rest === undefined) return;
    if (say === 'line') rest.heard(payload);
    else if (say === 'lost') rest.lost(faultIn(fault));
  }
}

export interface TakenParts {
  readonly link: Link;
  /** No connection is used before. */
  readonly mayBegin: Promise<unknown>;
}

/** At the successor. */
export class TakenServers {
  readonly #link: Link;
  readonly #mayBegin: Promise<unknown>;
  /** By number; each as long as the link. */
  readonly #connections = new Map<number, TakenServer>();

  /** Throws a Fault for what this version would not have written. */
  constructor({ link, mayBegin }: TakenParts, written: unknown, bytes: Buffer) {
    this.#link = link;
    this.#mayBegin = mayBegin;
    for (const [one, handed] of handedIn(written, bytes)) {
      this.#connections.set(one.id, new TakenServer(link, one, handed));
    }
    link.on(kind, (head, payload) => this.#heard(head, payload));
    const gone = () => {
      for (const one of this.#connections.values()) one.empty();
      this.#connections.clear();
    };
    link.closed.then(gone).catch(ignored);
  }

  get all(): ReadonlyMap<number, RestoredConnection> {
    return new Map(
      [...this.#connections].map(([id, one]) => {
        const restored: RestoredConnection = {
          handed: one.handed,
          former: one,
          mayBegin: this.#mayBegin,
          adopted: (connection) => one.adopted(connection),
          refused: (why) => one.lost(why),
        };
        return [id, restored];
      }),
    );
  }

  #heard(head: unknown, payload: Buffer): void {
    const { id, say } = isRecord(head) ? head : {};
    const one = typeof id === 'number' ? this.#connections.get(id) : undefined;
    if (say === 'line') one?.line(payload);
    else if (say === 'begun') one?.begun();
    else if (say === 'empty') one?.empty();
    else this.#link[Symbol.dispose]();
  }
}

/** The calls of the former on one server. */
class TakenServer implements FormerCalls {
  readonly below: number;
  readonly over: Promise<void>;
  readonly handed: HandedConnection;
  readonly #link: Link;
  readonly #id: number;
  #mayHaveCalls: boolean;
  #changed: () => void = ignored;
  #connection: AdoptedConnection | undefined;
  /** What the former says before the connection is in use here; a moment. */
  #early: Buffer[] = [];

  constructor(link: Link, { id, mayHaveCalls }: Written, handed: HandedConnection) {
    this.#link = link;
    this.#id = id;
    this.handed = handed;
    this.below = firstIdAfter(handed.state);
    this.#mayHaveCalls = mayHaveCalls;
    this.over = link.closed;
  }

  get mayHaveCalls(): boolean {
    return this.#mayHaveCalls;
  }

  watch(changed: () => void): void {
    this.#changed = changed;
  }

  #set(mayHaveCalls: boolean): void {
    if (mayHaveCalls === this.#mayHaveCalls) return;
    this.#mayHaveCalls = mayHaveCalls;
    this.#changed();
  }

  adopted(connection: AdoptedConnection): void {
    this.#connection = connection;
    const early = this.#early;
    this.#early = [];
    for (const line of early) connection.writeForFormer(line);
  }

  begun(): void {
    this.#set(true);
  }

  line(line: Buffer): void {
    this.#set(true);
    if (this.#connection === undefined) this.#early.push(line);
    else this.#connection.writeForFormer(line);
  }

  empty(): void {
    this.#set(false);
  }

  heard(line: Buffer): void {
    this.#link.send(kind, { id: this.#id, say: 'line' }, line);
  }

  lost({ record }: Fault): void {
    this.#early = [];
    const fault = JSON.parse(JSON.stringify(record)) as JsonValue;
    this.#link.send(kind, { id: this.#id, say: 'lost', fault });
  }
}

function* handedIn(
  written: unknown,
  bytes: Buffer,
): Generator<readonly [Written, HandedConnection]> {
  let at = 0;
  const next = (length: number) => {
    const from = at;
    at += length;
    // A copy: the snapshot need not be kept for a few bytes of it.
    return Buffer.from(bytes.subarray(from, at));
  };
  for (const one of writtenIn(written)) {
    const [unread, stdout, stderr] = one.lengths.map(next) as [Buffer, Buffer, Buffer];
    const state = connectionStateFrom(one.state);
    if (one.child === null) yield [one, { state, unread }];
    else yield [one, { state, unread, child: { state: one.child as never, stdout, stderr } }];
  }
  if (at !== bytes.length) throw wrong();
}

function writtenIn(value: unknown): readonly Written[] {
  if (!Array.isArray(value) || !value.every(isWritten)) throw wrong();
  return value;
}

function isWritten(value: unknown): value is Written {
  if (!isRecord(value)) return false;
  const { id, child, lengths, mayHaveCalls } = value;
  const isChild = child === null || (isRecord(child) && Number.isSafeInteger(child['id']));
  const areLengths =
    Array.isArray(lengths) &&
    lengths.length === 3 &&
    lengths.every((one) => Number.isSafeInteger(one) && one >= 0);
  return Number.isSafeInteger(id) && isChild && areLengths && typeof mayHaveCalls === 'boolean';
}

function wrong(): Fault {
  return new Fault('internal', 'the running servers were not handed over as this version does it');
}

/** What the other process says of a server that is gone. */
function faultIn(value: unknown): Fault {
  const { code, detail, ...facts } = isRecord(value) ? value : {};
  const isKnown = typeof code === 'string' && Object.hasOwn(faultTable, code);
  const text = typeof detail === 'string' ? detail : 'the server is gone';
  return new Fault(isKnown ? (code as FaultCode) : 'unavailable', text, facts);
}
