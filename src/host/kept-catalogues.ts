// What servers offered and said of themselves, kept beyond one run of the host, so that a list and a
// greeting can be answered before any server has been started. A record belongs to a server's spec:
// another command is another server. What comes back from the disk is checked like everything from
// outside; a record that does not fit is as good as none.

import { type Definition, readDefinitions } from '../catalog/definitions.ts';
import type { Collection } from '../store/store.ts';
import { isRecord } from '../upstream/classify.ts';
import type { Greeting } from '../upstream/connection.ts';
import { checkValue } from '../wire/json-text.ts';
import { WireError } from '../wire/wire-error.ts';
import { classWith } from './client-class.ts';
import { type ListKind, listKinds } from './listings.ts';
import type { Aim } from './seat.ts';

/** What one class of clients was offered. */
export interface KeptCatalogue {
  readonly aim: Aim;
  readonly lists: ReadonlyMap<ListKind, readonly Definition[]>;
  readonly greeting: Greeting | undefined;
}

export interface KeptRecord {
  readonly classes: readonly KeptCatalogue[];
  /** It has asked its client back. */
  readonly asks: boolean;
}

const version = 2;
const openBracket = 0x5b;

export class KeptCatalogues {
  readonly #collection: Collection;

  constructor(collection: Collection) {
    this.#collection = collection;
  }

  async get(specHash: string): Promise<KeptRecord | undefined> {
    return read(await this.#collection.get(specHash));
  }

  async put(specHash: string, { classes, asks }: KeptRecord): Promise<void> {
    await this.#collection.put(specHash, { version, classes: classes.map(written), asks });
  }
}

function written({ aim, lists, greeting }: KeptCatalogue): object {
  const texts = [...lists].map(([kind, definitions]) => [
    kind,
    `[${definitions.map(({ bytes, start, end }) => bytes.toString('utf8', start, end)).join(',')}]`,
  ]);
  const { era, clients } = aim;
  return { era, features: [...clients.features], lists: Object.fromEntries(texts), greeting };
}

function read(record: unknown): KeptRecord | undefined {
  if (!isRecord(record) || record['version'] !== version || !Array.isArray(record['classes'])) {
    return undefined;
  }
  const classes = record['classes'].flatMap((value) => catalogueIn(value) ?? []);
  return { classes, asks: record['asks'] === true };
}

function catalogueIn(value: unknown): KeptCatalogue | undefined {
  if (!isRecord(value) || !isRecord(value['lists']) || !Array.isArray(value['features'])) {
    return undefined;
  }
  const { era, features } = value;
  if (era !== 'legacy' && era !== 'modern') return undefined;
  const lists = new Map<ListKind, readonly Definition[]>();
  for (const kind of listKinds) {
    const text = value['lists'][kind];
    const definitions = typeof text === 'string' ? definitionsOf(text, kind) : undefined;
    if (definitions) lists.set(kind, definitions);
  }
  const clients = classWith(features.filter((feature) => typeof feature === 'string'));
  return { aim: { era, clients }, lists, greeting: greetingOf(value['greeting']) };
}

function definitionsOf(text: string, kind: ListKind): readonly Definition[] | undefined {
  const bytes = Buffer.from(text);
  try {
    checkValue(bytes);
    if (bytes[0] !== openBracket) return undefined;
    return readDefinitions(bytes, { start: 0, end: bytes.length }, kind).definitions;
  } catch (error) {
    // Damaged on the disk: the server will be asked.
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
