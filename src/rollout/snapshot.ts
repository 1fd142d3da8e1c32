// What an incumbent tells its successor, as one thing: named parts, each JSON and bytes, with the version of the form,
// the program it was written by, the instance it belongs to, and a checksum over all of it. The receiver checks the
// whole before it gives out any part, and gives out each part once. It travels over the link only, so there is no
// file that somebody could replace, link to or read. Values of secrets that servers were started with are in it, because
// both processes have to redact them: it is never printed, kept or stored. What a part means is for its owner to check.

import { createHash, timingSafeEqual } from 'node:crypto';
import { isRecord } from '../kernel/json-values.ts';
import type { JsonValue, Link } from './link.ts';

/** Raised when an older program would misunderstand it; only the same version is accepted. */
export const snapshotVersion = 1;

/** All parts together. Below what may wait on a link. */
export const maxSnapshotBytes = 201_326_592;
const maxParts = 1_000;
const partName = /^[a-z][a-z0-9._/-]{0,99}$/;

export type SnapshotReason =
  /** It is not whole. */
  | 'truncated'
  /** It is not what was sent. */
  | 'damaged'
  /** Its form is of another version. */
  | 'version'
  /** It belongs to another instance. */
  | 'instance'
  | 'too_large';

export class SnapshotRefused extends Error {
  override readonly name = 'SnapshotRefused';
  readonly reason: SnapshotReason;

  constructor(reason: SnapshotReason, detail: string) {
    super(`the snapshot is refused: ${detail}`);
    this.reason = reason;
  }
}

export interface SnapshotPart {
  readonly name: string;
  readonly data: JsonValue;
  readonly bytes?: Uint8Array | undefined;
}

export interface SnapshotOrigin {
  /** The program's version, for messages: a snapshot of any program is accepted. */
  readonly program: string;
  readonly instance: string;
}

interface Listed {
  readonly name: string;
  readonly json: number;
  readonly bytes: number;
}

/** Everything but the parts themselves. */
export interface SnapshotHead extends SnapshotOrigin {
  readonly snapshot: 'holdfast';
  readonly version: number;
  readonly parts: readonly Listed[];
  /** SHA-256, in hex, over the rest of the head and all parts. */
  readonly checksum: string;
}

export interface WrittenSnapshot {
  readonly head: SnapshotHead;
  /** Of each part its JSON and its bytes. */
  readonly pieces: readonly Buffer[];
}

/** Throws SnapshotRefused if it is too large. */
export function writtenSnapshot(
  { program, instance }: SnapshotOrigin,
  parts: readonly SnapshotPart[],
): WrittenSnapshot {
  const pieces = parts.flatMap(({ data, bytes = Buffer.alloc(0) }) => [
    Buffer.from(JSON.stringify(data) ?? 'null'),
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  ]);
  const total = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (total > maxSnapshotBytes || parts.length > maxParts) {
    throw new SnapshotRefused('too_large', `it has ${parts.length} parts with ${total} bytes`);
  }
  const listed = parts.map(({ name }, at) => {
    if (!partName.test(name)) throw new TypeError(`not the name of a part: ${name}`);
    return { name, json: pieces[2 * at]?.length ?? 0, bytes: pieces[2 * at + 1]?.length ?? 0 };
  });
  if (new Set(listed.map(({ name }) => name)).size < listed.length) {
    throw new TypeError('two parts of a snapshot have the same name');
  }
  const head = { version: snapshotVersion, program, instance, parts: listed };
  return { head: { snapshot: 'holdfast', ...head, checksum: checksumOf(head, pieces) }, pieces };
}

function checksumOf(
  { version, program, instance, parts }: Omit<SnapshotHead, 'checksum' | 'snapshot'>,
  pieces: readonly Buffer[],
): string {
  const listed = parts.map(({ name, json, bytes }) => [name, json, bytes]);
  const hash = createHash('sha256').update(JSON.stringify([version, program, instance, listed]));
  for (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}

export interface ReadPart {
  readonly data: unknown;
  readonly bytes: Buffer;
}

/** The parts of a snapshot that was checked whole. */
export class ReadSnapshot {
  readonly program: string;
  readonly #parts: Map<string, ReadPart>;

  constructor(program: string, parts: Map<string, ReadPart>) {
    this.program = program;
    this.#parts = parts;
  }

  /** The names of what was not taken yet. */
  get left(): readonly string[] {
    return [...this.#parts.keys()];
  }

  /** Each part is there once. Undefined: it was taken, or the incumbent does not have it. */
  take(name: string): ReadPart | undefined {
    const part = this.#parts.get(name);
    this.#parts.delete(name);
    return part;
  }
}

/** Checks everything. Throws SnapshotRefused. */
export function readSnapshot(
  head: unknown,
  pieces: readonly Buffer[],
  instance: string,
): ReadSnapshot {
  const checked = checkedHead(head, instance);
  const { parts, program, checksum } = checked;
  for (const [at, { name, json, bytes }] of parts.entries()) {
    const [text, rest] = [pieces[2 * at], pieces[2 * at + 1]];
    if (text?.length !== json || rest?.length !== bytes) {
      throw new SnapshotRefused('truncated', `the part ${name} is not whole`);
    }
  }
  if (pieces.length !== 2 * parts.length) {
    throw new SnapshotRefused('damaged', 'it has more than its parts');
  }
  if (!timingSafeEqual(Buffer.from(checksumOf(checked, pieces)), Buffer.from(checksum))) {
    throw new SnapshotRefused('damaged', 'its checksum is wrong');
  }
  const read = parts.map(({ name }, at): [string, ReadPart] => {
    const [text = Buffer.alloc(0), bytes = Buffer.alloc(0)] = pieces.slice(2 * at, 2 * at + 2);
    return [name, { data: parsed(name, text), bytes }];
  });
  return new ReadSnapshot(program, new Map(read));
}

function parsed(name: string, text: Buffer): unknown {
  try {
    return JSON.parse(text.toString('utf8'));
  } catch {
    throw new SnapshotRefused('damaged', `the part ${name} is not JSON`);
  }
}

function checkedHead(head: unknown, instance: string): SnapshotHead {
  const damaged = () => new SnapshotRefused('damaged', 'its head cannot be read');
  if (!isRecord(head) || head['snapshot'] !== 'holdfast') throw damaged();
  // First: what follows may have another form.
  const { version } = head;
  if (version !== snapshotVersion) {
    const told = `its form has version ${JSON.stringify(version)?.slice(0, 40)}, this program reads ${snapshotVersion}`;
    throw new SnapshotRefused('version', told);
  }
  const { program, instance: named, parts, checksum } = head;
  const hasTexts = typeof program === 'string' && typeof named === 'string';
  if (!hasTexts || program.length > 100 || named.length > 10_000) throw damaged();
  if (typeof checksum !== 'string' || !/^[0-9a-f]{64}$/.test(checksum)) throw damaged();
  if (!Array.isArray(parts) || !parts.every(isListed)) throw damaged();
  if (new Set(parts.map(({ name }) => name)).size < parts.length) throw damaged();
  const total = parts.reduce((sum, { json, bytes }) => sum + json + bytes, 0);
  if (total > maxSnapshotBytes || parts.length > maxParts) {
    throw new SnapshotRefused('too_large', `it has ${parts.length} parts with ${total} bytes`);
  }
  if (named !== instance) throw new SnapshotRefused('instance', 'it belongs to another instance');
  return { snapshot: 'holdfast', version, program, instance: named, parts, checksum };
}

function isListed(part: unknown): part is Listed {
  if (!isRecord(part)) return false;
  const { name, json, bytes } = part;
  return typeof name === 'string' && partName.test(name) && isLength(json) && isLength(bytes);
}

function isLength(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

// --- over a link -----------------------------------------------------------------------------

/** `about` tells the snapshots of one rollout apart: what is told before the fence, and what after it. */
export function sendSnapshot(link: Link, about: string, { head, pieces }: WrittenSnapshot): void {
  link.send(`snapshot.${about}`, { head, pieces: pieces.length });
  for (const piece of pieces) link.send(`snapshot.${about}`, null, piece);
}

/** Rejects with SnapshotRefused, also if the link ends before it is whole. A second one ends the link. */
export function receivedSnapshot(
  link: Link,
  about: string,
  instance: string,
): Promise<ReadSnapshot> {
  return new Promise((resolve, reject) => {
    let head: unknown;
    let missing: number | undefined;
    const pieces: Buffer[] = [];
    link.on(`snapshot.${about}`, (value, payload) => {
      if (missing === undefined) {
        const begun = begunIn(value);
        ({ head, pieces: missing } = begun);
      } else {
        if (missing === 0) throw new SnapshotRefused('damaged', 'there is more than one');
        pieces.push(payload);
        missing -= 1;
      }
      if (missing > 0) return;
      // Synchronous, and with all that it throws: a refusal is no wrong message.
      resolve(new Promise((read) => read(readSnapshot(head, pieces.splice(0), instance))));
    });
    const cut = () => reject(new SnapshotRefused('truncated', 'the link has ended within it'));
    link.closed.then(cut).catch(cut);
  });
}

function begunIn(value: unknown): { readonly head: unknown; readonly pieces: number } {
  if (!isRecord(value) || !isLength(value['pieces']) || value['pieces'] > 2 * maxParts) {
    throw new SnapshotRefused('damaged', 'it has no beginning');
  }
  return { head: value['head'], pieces: value['pieces'] };
}
