// An open connection as it passes from one serving process (the former) to the next one (the
// successor) during a rollout: what is written down about it, how that is read back, and how the
// two processes share the server afterwards. The ids of requests divide the two: the successor's
// begin far above the former's, so that the former has ids left for further rounds of its calls.

import { Fault } from '../kernel/fault.ts';
import { isRecord } from '../kernel/json-values.ts';
import type { HandedChild } from '../supervise/child.ts';
import type { Connection, Greeting } from './connection.ts';
import { noiseStateFrom, type WrittenNoise } from './stdio/written-noise.ts';

/** So many ids are left to the former for what still belongs to its calls. */
const idsOfFormer = 1_000_000;

interface SharedState {
  readonly generation: number;
  readonly greeting: Greeting;
  /** The next id of the former. */
  readonly nextId: number;
}

/** Where the reading of a child's stdout had got to, between two chunks. */
export interface StdoutState {
  /** A line beyond the limit is being discarded: its last bytes, in base64. */
  readonly discarded?: string;
  /** The beginning of that line, in base64, if its end has to show which request it answers. */
  readonly oversizedHead?: string;
  readonly noise: WrittenNoise;
}

export interface StdioState extends SharedState {
  readonly transport: 'stdio';
  readonly stdout: StdoutState;
  /** The last lines of stderr, without secrets. */
  readonly stderr: readonly string[];
}

export interface HttpState extends SharedState {
  readonly transport: 'http';
  /** Legacy; absent: the server has no sessions. */
  readonly sessionId?: string;
  /** Legacy: the last event of the stream for unsolicited messages, as the value of a header. */
  readonly lastEventId?: string;
}

/** JSON. */
export type ConnectionState = StdioState | HttpState;

export interface HandedConnection {
  readonly state: ConnectionState;
  /** With stdio. */
  readonly child?: HandedChild;
  /** Read from the child's stdout before what is in `child`, and not handled. */
  readonly unread: Buffer;
}

/** Where the former says something to the server. */
export interface LinesOfFormer {
  write(line: Buffer): void;
  /** It has begun an exchange of its own, past the next process. */
  begun?(): void;
}

/** At the former: its connection, of which only exchanges that were begun are left. */
export interface RestOfCalls {
  /** Exchanges that are open; subscriptions do not count. */
  readonly open: number;
  /** Whether it, or a former of its own, has open exchanges. */
  readonly mayHaveCalls: boolean;
  /** Resolves when all exchanges have ended that are open now, here and at a former of its own. */
  whenEmpty(): Promise<void>;
  /**
   * Where its lines to the server go from now on: whole lines, without the line end. What has
   * waited is passed on at once. Over HTTP there are none, and `begun` is called with each exchange.
   */
  attach(lines: LinesOfFormer): void;
  /** A line of the server for it, without the line end. */
  heard(line: Buffer): void;
  /** The server is gone: what is open fails. */
  lost(fault: Fault): void;
}

/** At the successor: the calls of the former on the same server. */
export interface FormerCalls {
  /** The first id that is not the former's (`firstIdAfter`). */
  readonly below: number;
  /** Whether it, or a former of its own, has open exchanges. */
  readonly mayHaveCalls: boolean;
  /** Calls `changed` whenever that is different; absent: only `over` tells. */
  watch?(changed: () => void): void;
  /** Resolves when it will have none any more, also because it is gone. */
  readonly over?: Promise<void>;
  heard(line: Buffer): void;
  lost(fault: Fault): void;
}

export interface HandOver {
  readonly handed: HandedConnection;
  readonly rest: RestOfCalls;
}

/** At the successor: the connection that was handed over. */
export interface AdoptedConnection extends Connection {
  /** A line of the former to the server, without the line end. */
  writeForFormer(line: Buffer): void;
}

/** The first id of the successor. */
export function firstIdAfter({ nextId }: Pick<ConnectionState, 'nextId'>): number {
  return nextId + idsOfFormer;
}

// --- reading -------------------------------------------------------------------------------

const longestText = 1024 * 1024;
const mostLines = 1_000;

/** Throws a Fault for everything that the same version would not have written. */
export function connectionStateFrom(value: unknown): ConnectionState {
  const state = record(value, 'state');
  const { transport } = state;
  const shared = {
    generation: count(state['generation'], 'generation'),
    nextId: count(state['nextId'], 'nextId'),
    greeting: greetingFrom(state['greeting']),
  };
  if (transport === 'http') {
    return {
      transport,
      ...shared,
      ...optional('sessionId', headerValue(state['sessionId'], 'sessionId')),
      ...optional('lastEventId', headerValue(state['lastEventId'], 'lastEventId')),
    };
  }
  if (transport !== 'stdio') throw unreadable('transport');
  const { stderr } = state;
  if (!Array.isArray(stderr) || stderr.length > mostLines) throw unreadable('stderr');
  return {
    transport,
    ...shared,
    stdout: stdoutFrom(state['stdout']),
    stderr: stderr.map((line: unknown) => text(line, 'stderr')),
  };
}

function greetingFrom(value: unknown): Greeting {
  const { era, protocolVersion, serverInfo, capabilities, instructions } = record(
    value,
    'greeting',
  );
  if (era !== 'legacy' && era !== 'modern') throw unreadable('era');
  return {
    era,
    protocolVersion: text(protocolVersion, 'protocolVersion'),
    serverInfo,
    capabilities: record(capabilities, 'capabilities'),
    instructions:
      instructions === undefined ? undefined : text(instructions, 'instructions', Infinity),
  };
}

function stdoutFrom(value: unknown): StdoutState {
  const { discarded, oversizedHead, noise } = record(value, 'stdout');
  const written = noiseStateFrom(noise);
  if (written === undefined) throw unreadable('noise');
  return {
    ...optional('discarded', base64(discarded, 'discarded')),
    ...optional('oversizedHead', base64(oversizedHead, 'oversizedHead')),
    noise: written,
  };
}

function optional<Name extends string, Value>(name: Name, value: Value | undefined) {
  return (value === undefined ? {} : { [name]: value }) as { readonly [name in Name]?: Value };
}

function record(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw unreadable(what);
  return value;
}

function count(value: unknown, what: string): number {
  const isCount = typeof value === 'number' && Number.isSafeInteger(value + 2 * idsOfFormer);
  if (!isCount || value < 1) throw unreadable(what);
  return value;
}

function text(value: unknown, what: string, longest = longestText): string {
  if (typeof value !== 'string' || value.length > longest) throw unreadable(what);
  return value;
}

function base64(value: unknown, what: string): string | undefined {
  if (value === undefined) return undefined;
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text(value, what))) throw unreadable(what);
  return value as string;
}

function headerValue(value: unknown, what: string): string | undefined {
  if (value === undefined) return undefined;
  if (/[\u0000-\u001f\u007f]/.test(text(value, what))) throw unreadable(what);
  return value as string;
}

function unreadable(what: string): Fault {
  return new Fault('internal', `a connection was handed over with a ${what} that cannot be read`);
}
