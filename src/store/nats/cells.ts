// The keyed values of one stream: the last message of a subject is the value of a key, or says that it was removed.
// A value whose time is over is absent at once, by the time of the server. What was replaced is erased; what is absent
// stays for a while, for those who follow the changes, and until nothing older is left that could come back in its
// place (docs/decisions/0028-the-nats-store.md). `cell-sweep.ts` removes it later.

import { StoreError } from '../store-error.ts';
import type { KeptStream, OpenStream } from './kept-stream.ts';
import type { StoredMessage } from './stored-message.ts';
import { tokenOf } from './stream-names.ts';
import type { ValueParts } from './value-parts.ts';

export interface Cell {
  readonly key: string;
  readonly sequence: number;
  /** As of a message. */
  readonly incarnation: string;
  /** The value as JSON text. */
  readonly text: string;
  /** In the shared time; null: never. */
  readonly expiresAt: number | null;
  /** Further facts, by name. */
  readonly headers: ReadonlyMap<string, string>;
}

export interface CellWrite {
  readonly text: string;
  readonly expiresAt: number | null;
  readonly headers?: ReadonlyMap<string, string>;
  /** As in `Publication`. */
  readonly expected?: number | undefined;
  /** What is erased afterwards. */
  readonly replaces?: Replaced | undefined;
}

type Replaced = Pick<StoredMessage, 'sequence' | 'incarnation' | 'headers'>;

export const cellHeaders = {
  until: 'Hf-Until',
  removed: 'Hf-Removed',
  key: 'Hf-Key',
  parts: 'Hf-Parts',
  ttl: 'Nats-TTL',
} as const;

/** How long what is absent stays at least. */
export const deadStaysMs = 600_000;
/** A longer key is in the body only. */
const headerKeyBytes = 4_096;

export class Cells {
  readonly stream: KeptStream;
  readonly parts: ValueParts;
  readonly #behind: (work: () => Promise<void>) => Promise<void>;

  /** `behind` runs what nobody waits for, unless there is too much of it. */
  constructor(
    stream: KeptStream,
    parts: ValueParts,
    behind: (work: () => Promise<void>) => Promise<void>,
  ) {
    this.stream = stream;
    this.parts = parts;
    this.#behind = behind;
  }

  /** What is there, live or not; undefined: there never was anything. Rejects with a StoreError. */
  async message(key: string): Promise<StoredMessage | undefined> {
    return await this.stream.last(tokenOf(key));
  }

  /** The live value. Rejects with a StoreError. */
  async read(key: string): Promise<Cell | undefined> {
    for (let tried = 0; ; tried += 1) {
      const { session } = await this.stream.open();
      const message = await this.message(key);
      if (message === undefined || !isLive(message, session.now())) return undefined;
      const cell = await this.cellIn(message);
      if (cell !== undefined && cell.key === key) return cell;
      // Its parts are gone because it was replaced in this moment; otherwise it is damaged.
      if (tried > 0) throw unreadable(this.stream.name);
    }
  }

  /** Undefined if it cannot be read. Rejects with a StoreError. */
  async cellIn(message: StoredMessage): Promise<Cell | undefined> {
    const { body, headers, sequence, incarnation } = message;
    const end = body.indexOf(0x0a);
    const key = keyIn(body.toString('utf8', 0, Math.max(0, end)));
    if (key === undefined) return undefined;
    const named = headers.get(cellHeaders.parts);
    const text =
      named === undefined ? body.toString('utf8', end + 1) : await this.parts.read(named);
    if (text === undefined) return undefined;
    return { key, sequence, incarnation, text, expiresAt: untilOf(headers), headers };
  }

  /** The new sequence; undefined if another than the expected one is there. Rejects with a StoreError. */
  async write(key: string, cell: CellWrite): Promise<number | undefined> {
    const { text, expiresAt, headers = new Map(), expected, replaces } = cell;
    const open = await this.stream.open();
    const keyLine = JSON.stringify(key);
    const named = await this.parts.writeIfLarge(
      text,
      Buffer.byteLength(keyLine),
      open.session.maxPayload,
    );
    const all = new Map<string, string>([...headers, ...keyHeader(keyLine)]);
    if (named !== undefined) all.set(cellHeaders.parts, named);
    if (expiresAt !== null) {
      all.set(cellHeaders.until, String(expiresAt));
      if (expected === 0) setTtl(all, open, expiresAt);
    }
    const body = `${keyLine}\n${named === undefined ? text : ''}`;
    const sequence = await this.stream.publish({
      token: tokenOf(key),
      body,
      headers: all,
      expected,
    });
    if (sequence === undefined && named !== undefined) await this.parts.drop(named);
    if (sequence !== undefined) await this.#eraseBehind(replaces);
    return sequence;
  }

  /** Says that it was removed. The result is as of `write`. */
  async writeRemoved(
    key: string,
    replaces: Replaced,
    expected?: number,
  ): Promise<number | undefined> {
    const keyLine = JSON.stringify(key);
    const headers = new Map([[cellHeaders.removed, '1'], ...keyHeader(keyLine)]);
    const publication = { token: tokenOf(key), body: `${keyLine}\n`, headers, expected };
    const sequence = await this.stream.publish(publication);
    if (sequence !== undefined) await this.#eraseBehind(replaces);
    return sequence;
  }

  async #eraseBehind(replaced: Replaced | undefined): Promise<void> {
    if (replaced === undefined) return;
    const named = replaced.headers.get(cellHeaders.parts);
    await this.#behind(async () => {
      await this.stream.erase([replaced]);
      if (named !== undefined) await this.parts.drop(named);
    });
  }
}

export function isLive({ headers }: StoredMessage, now: number): boolean {
  if (headers.has(cellHeaders.removed)) return false;
  const until = untilOf(headers);
  return until === null || now < until;
}

/** Null: never. */
export function untilOf(headers: ReadonlyMap<string, string>): number | null {
  const until = headers.get(cellHeaders.until);
  return until === undefined ? null : Number(until);
}

/** The server removes it when nobody can miss it: only where nothing older of the same key can come to light then. */
function setTtl(headers: Map<string, string>, { session, hasTtl }: OpenStream, end: number): void {
  if (!hasTtl) return;
  const seconds = Math.ceil((Math.max(0, end - session.now()) + deadStaysMs) / 1_000);
  headers.set(cellHeaders.ttl, `${seconds}s`);
}

/** For those who follow the changes, without the bodies. */
function keyHeader(keyLine: string): readonly (readonly [string, string])[] {
  const text = Buffer.from(keyLine).toString('base64url');
  return text.length > headerKeyBytes ? [] : [[cellHeaders.key, text]];
}

/** Undefined if it is not in the headers. */
export function headerKeyOf({ headers }: StoredMessage): string | undefined {
  const text = headers.get(cellHeaders.key);
  return text === undefined ? undefined : keyIn(Buffer.from(text, 'base64url').toString());
}

function keyIn(line: string): string | undefined {
  try {
    const key: unknown = JSON.parse(line);
    return typeof key === 'string' ? key : undefined;
  } catch {
    return undefined;
  }
}

export function unreadable(name: string): StoreError {
  return new StoreError('unreadable', `a value in ${name} is damaged or is none of ours`);
}

/** What is damaged or full is told, and rejects as before; a server that cannot be asked says so itself. */
export async function tellingTrouble<T>(
  work: () => Promise<T>,
  tell: { readonly damaged: () => void; readonly full: () => void },
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isDamaged = error instanceof StoreError && error.reason === 'unreadable';
    if (isDamaged && error.cause === undefined) tell.damaged();
    if (error instanceof StoreError && error.reason === 'full') tell.full();
    throw error;
  }
}
