// The catalogues, instructions and capabilities of servers, stored across runs of the host, so that
// a list and a handshake can be answered before any server has been started. A record belongs to a
// server's spec: another command is another server. Data from the disk is validated like everything
// from outside; an invalid record counts as missing. A record that is not read for a long time
// belongs to a server that is no longer configured, and expires; reading one keeps it.

import { type Definition, readDefinitions } from '../../catalog/definitions.ts';
import { type Clock, within } from '../../kernel/clock.ts';
import { isRecord } from '../../kernel/json-values.ts';
import type { Records } from '../../store/contract/records.ts';
import type { Greeting } from '../../upstream/connection.ts';
import { checkValue } from '../../wire/json-text.ts';
import { WireError } from '../../wire/wire-error.ts';
import { bareClass, classWith } from '../connections/client-class.ts';
import type { Aim } from '../connections/connection-slot.ts';
import { type ListKind, listKinds } from './listings.ts';

/** What one class of clients was offered. */
export interface KeptCatalogue {
  readonly aim: Aim;
  readonly lists: ReadonlyMap<ListKind, readonly Definition[]>;
  readonly greeting: Greeting | undefined;
}

export interface KeptRecord {
  readonly classes: readonly KeptCatalogue[];
  /** It has sent requests to its client. */
  readonly asks: boolean;
}

/** Of the records. */
export const keptVersion = 3;
/** Until then the lists of modern servers were asked for without capabilities. */
const classlessVersion = 2;
const dayMs = 24 * 60 * 60 * 1000;
/** From its last use; uses within a day count as one. */
const keptMs = 90 * dayMs;
/** Of one change; then another process has written again and again, and has kept what it knows. */
const maxAttempts = 5;
/** How long the end of a host waits for a slow disk. */
const settleMs = 3_000;
const openBracket = 0x5b;

export class KeptCatalogues {
  readonly #records: Records;
  readonly #clock: Clock;
  /** Changes that are not written yet; at most one or two for each server. */
  readonly #writing = new Set<Promise<void>>();

  constructor(records: Records, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  async get(specHash: string): Promise<KeptRecord | undefined> {
    const record = (await this.#records.get(specHash))?.value;
    const kept = read(record);
    // A store that cannot be written reports that itself, and a closed one does not matter.
    if (kept && isRecord(record)) this.#renew(specHash, record).catch(() => {});
    return kept;
  }

  async #renew(specHash: string, record: Readonly<Record<string, unknown>>): Promise<void> {
    const { usedAt } = record;
    const now = this.#clock.wallNow();
    if (typeof usedAt === 'number' && usedAt <= now && now - usedAt < dayMs) return;
    await this.#records.put(specHash, { ...record, usedAt: now }, { ttlMs: keptMs });
  }

  /** Resolves when all changes so far are written, or cannot be, or the disk takes too long: they can be read again. */
  async settled(): Promise<void> {
    await within(this.#clock, settleMs, Promise.allSettled(this.#writing));
  }

  /** Replaces what is stored by what `make` says of it; other processes change it, too. */
  update(specHash: string, make: (stored: KeptRecord | undefined) => KeptRecord): Promise<void> {
    const writing = this.#update(specHash, make).finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
    return writing;
  }

  async #update(
    specHash: string,
    make: (stored: KeptRecord | undefined) => KeptRecord,
  ): Promise<void> {
    const options = { ttlMs: keptMs };
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const entry = await this.#records.get(specHash);
      const record = this.#written(make(read(entry?.value)));
      const { isPut } =
        entry === undefined
          ? await this.#records.putIfAbsent(specHash, record, options)
          : await this.#records.compareAndSet(specHash, entry.version, record, options);
      if (isPut) return;
    }
  }

  #written({ classes, asks }: KeptRecord): object {
    return {
      version: keptVersion,
      usedAt: this.#clock.wallNow(),
      classes: classes.map(written),
      asks,
    };
  }
}

function written({ aim, lists, greeting }: KeptCatalogue): object {
  const texts = [...lists].map(([kind, definitions]) => [kind, textOf(definitions)]);
  const { era, clients } = aim;
  return { era, features: [...clients.features], lists: Object.fromEntries(texts), greeting };
}

/** One JSON array. */
export function textOf(definitions: readonly Definition[]): string {
  return `[${definitions.map(({ bytes, start, end }) => bytes.toString('utf8', start, end)).join(',')}]`;
}

/** Is this a kept record, of this version or another? */
export function isKeptRecord(record: unknown): boolean {
  if (!isRecord(record) || typeof record['version'] !== 'number') return false;
  if (record['version'] !== keptVersion) return true;
  const { classes } = record;
  return Array.isArray(classes) && classes.every(isKeptClass);
}

function read(record: unknown): KeptRecord | undefined {
  if (!isRecord(record) || !Array.isArray(record['classes'])) return undefined;
  const { version } = record;
  if (version !== keptVersion && version !== classlessVersion) return undefined;
  const classes = record['classes'].flatMap((value) => catalogueIn(value) ?? []);
  const read = version === keptVersion ? classes : classes.map(classless);
  return { classes: read, asks: record['asks'] === true };
}

function classless(kept: KeptCatalogue): KeptCatalogue {
  const { aim } = kept;
  return aim.era === 'modern' ? { ...kept, aim: { ...aim, clients: bareClass } } : kept;
}

interface KeptClass {
  readonly era: Aim['era'];
  readonly features: readonly unknown[];
  readonly lists: Readonly<Record<string, unknown>>;
  readonly greeting?: unknown;
}

/** The texts of its lists are looked at when they are read. */
function isKeptClass(value: unknown): value is KeptClass {
  if (!isRecord(value) || !isRecord(value['lists']) || !Array.isArray(value['features'])) {
    return false;
  }
  return value['era'] === 'legacy' || value['era'] === 'modern';
}

function catalogueIn(value: unknown): KeptCatalogue | undefined {
  if (!isKeptClass(value)) return undefined;
  const { era, features } = value;
  const lists = new Map<ListKind, readonly Definition[]>();
  for (const kind of listKinds) {
    const text = value.lists[kind];
    const definitions = typeof text === 'string' ? definitionsOf(text, kind) : undefined;
    if (definitions) lists.set(kind, definitions);
  }
  const clients = classWith(features.filter((feature) => typeof feature === 'string'));
  return { aim: { era, clients }, lists, greeting: greetingOf(value.greeting) };
}

/** Undefined if the text cannot be read. */
export function definitionsOf(text: string, kind: ListKind): readonly Definition[] | undefined {
  const bytes = Buffer.from(text);
  try {
    checkValue(bytes);
    if (bytes[0] !== openBracket) return undefined;
    return readDefinitions(bytes, { start: 0, end: bytes.length }, kind).definitions;
  } catch (error) {
    // Damaged on the disk: the server will be asked again.
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

function greetingOf(value: unknown): Greeting | undefined {
  if (!isRecord(value)) return undefined;
  const { era, protocolVersion, serverInfo, capabilities, instructions } = value;
  if ((era !== 'legacy' && era !== 'modern') || typeof protocolVersion !== 'string') {
    return undefined;
  }
  return {
    era,
    protocolVersion,
    serverInfo,
    capabilities: isRecord(capabilities) ? capabilities : {},
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}
