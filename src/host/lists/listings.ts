// The lists of one server (tools, prompts, resources, templates, skills) as they were last read:
// the definitions as bytes, how long they are valid, and whether the server has reported a change.
// They stay known when the server is gone, slow or broken; only a new reading replaces them.

import { scopeOf, serverTtlMs } from '../../cache/freshness.ts';
import type { ListName } from '../../catalog/cursors.ts';
import {
  type Definition,
  type DefinitionReading,
  distinctDefinitions,
  readDefinitions,
} from '../../catalog/definitions.ts';
import { followPages, type Page } from '../../catalog/pages.ts';
import type { Tool } from '../../catalog/tool.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Fault, faultFrom } from '../../kernel/fault.ts';
import { isRecord } from '../../kernel/json-values.ts';
import type { Connection, Greeting } from '../../upstream/connection.ts';
import { numberOf, valueOf as parsed, textOf } from '../../wire/decode.ts';
import type { EnvelopeKey } from '../../wire/envelope-keys.ts';
import { rpcCodes } from '../../wire/eras.ts';
import { hasBrokenMarks } from '../../wire/mirrored-headers.ts';
import type { Message } from '../../wire/scan.ts';
import type { Span } from '../../wire/span.ts';
import { WireError } from '../../wire/wire-error.ts';
import { skillsCapability } from './skills.ts';

export type ListKind = ListName;

export const listKinds: readonly ListKind[] = [
  'tools',
  'prompts',
  'resources',
  'resourceTemplates',
  'skills',
];

interface ListWords {
  readonly method: string;
  /** Whether it declares such a list. */
  readonly isDeclared: (capabilities: Greeting['capabilities']) => boolean;
}

const declared =
  (capability: 'tools' | 'prompts' | 'resources') => (capabilities: Greeting['capabilities']) =>
    capabilities[capability] !== undefined;

export const listWords: Readonly<Record<ListKind, ListWords>> = {
  tools: { method: 'tools/list', isDeclared: declared('tools') },
  prompts: { method: 'prompts/list', isDeclared: declared('prompts') },
  resources: { method: 'resources/list', isDeclared: declared('resources') },
  resourceTemplates: { method: 'resources/templates/list', isDeclared: declared('resources') },
  skills: {
    method: 'skills/list',
    isDeclared: (capabilities) => skillsCapability(capabilities) !== undefined,
  },
};

/** Templates and skills have no notification of their own: their changes are changes of resources. */
export function announcedAs(kind: ListKind): 'tools' | 'prompts' | 'resources' {
  return kind === 'resourceTemplates' || kind === 'skills' ? 'resources' : kind;
}

export interface Listing {
  readonly definitions: readonly Definition[];
  readonly leftOut: number;
  readonly scope: 'public' | 'private';
  /** Until when the list is valid; the past if the server gave no time. */
  readonly holdsUntil: number;
}

/** A server that hangs in a list must not be unusable for its calls. */
export const listDeadlineMs = 10_000;
/** A server that reports a change with every reading is not read for ever. */
const maxReadingsAgain = 2;

interface Shelf {
  listing: Listing | undefined;
  isStale: boolean;
  staleAt: number;
  /**
   * How often it was reported as changed: if that happens while it is read, the result is outdated.
   */
  changes: number;
  /** Why the last reading has failed; undefined: it has not. */
  failure: Fault | undefined;
  loading: { readonly connection: Connection; readonly loaded: Promise<Listing> } | undefined;
}

export class Listings {
  readonly #clock: Clock;
  readonly #shelves: Readonly<Record<ListKind, Shelf>>;
  readonly #read: (kind: ListKind, listing: Listing) => void;
  /**
   * Connections that are reserved for one client by now: what was requested on them before does not
   * count here; as long as they exist.
   */
  readonly #left = new WeakSet<Connection>();

  /** The connections on which the tools were asked for, answered or not; as long as they exist. */
  readonly #asked = new WeakSet<Connection>();
  readonly #capabilities: string | undefined;

  /**
   * `read` is called for every new reading. `capabilities`: of the clients that it is read for, as JSON; a modern
   * server is told them with every request.
   */
  constructor(
    clock: Clock,
    read: (kind: ListKind, listing: Listing) => void,
    capabilities?: string,
  ) {
    this.#clock = clock;
    this.#capabilities = capabilities;
    this.#read = read;
    this.#shelves = {
      tools: emptyShelf(),
      prompts: emptyShelf(),
      resources: emptyShelf(),
      resourceTemplates: emptyShelf(),
      skills: emptyShelf(),
    };
  }

  /** As last known, however old; undefined if it was never read. */
  known(kind: ListKind): Listing | undefined {
    return this.#shelves[kind].listing;
  }

  /** Why it could not be read the last time; undefined: it was read, or never asked for. */
  failure(kind: ListKind): Fault | undefined {
    return this.#shelves[kind].failure;
  }

  isFresh(kind: ListKind): boolean {
    const { listing, isStale, staleAt } = this.#shelves[kind];
    return listing !== undefined && !isStale && this.#clock.now() < staleAt;
  }

  changed(kind: ListKind): void {
    const shelf = this.#shelves[kind];
    shelf.isStale = true;
    shelf.changes += 1;
  }

  /** What an earlier run of the host had read: better than nothing, and never fresh. */
  recall(kind: ListKind, definitions: readonly Definition[]): void {
    const shelf = this.#shelves[kind];
    if (shelf.listing) return;
    shelf.listing = { definitions, leftOut: 0, scope: 'private', holdsUntil: 0 };
    shelf.isStale = true;
  }

  /** Takes over what another one knows. */
  beginAs(other: Listings): void {
    for (const kind of listKinds) {
      const { listing, isStale, staleAt } = other.#shelves[kind];
      Object.assign(this.#shelves[kind], { listing, isStale, staleAt });
    }
  }

  /** As the process before this one had read it. */
  restore(kind: ListKind, listing: Listing, isStale: boolean, staleAt: number): void {
    Object.assign(this.#shelves[kind], { listing, isStale, staleAt });
  }

  /** When it has to be read again; it may have been reported as changed before. */
  age(kind: ListKind): { readonly isStale: boolean; readonly staleAt: number } {
    const { isStale, staleAt } = this.#shelves[kind];
    return { isStale, staleAt };
  }

  /** They were read on this connection, by the process before this one. */
  adopted(connection: Connection): void {
    this.#asked.add(connection);
  }

  /** What comes on this connection from now on is for one client only. */
  leave(connection: Connection): void {
    this.#left.add(connection);
  }

  isLeftBy(connection: Connection): boolean {
    return this.#left.has(connection);
  }

  /** Whether its tools were asked for on this connection, whatever came of it. */
  isAskedOn(connection: Connection): boolean {
    return this.#asked.has(connection);
  }

  /** Whether its tools were asked for on this connection, and answered or given up. */
  isToldBy(connection: Connection): boolean {
    const { loading } = this.#shelves.tools;
    return this.isAskedOn(connection) && loading?.connection !== connection;
  }

  /** Reads the list; those who ask on the same connection at the same time share one reading. */
  load(kind: ListKind, connection: Connection): Promise<Listing> {
    const shelf = this.#shelves[kind];
    if (shelf.loading?.connection === connection) return shelf.loading.loaded;
    if (kind === 'tools') this.#asked.add(connection);
    const loaded = this.#loadUnchanged(kind, connection)
      .catch((error: unknown) => {
        // What an earlier process said may not hold for this one.
        shelf.isStale = true;
        shelf.failure = faultFrom(error);
        throw error;
      })
      .finally(() => {
        if (shelf.loading?.connection === connection) shelf.loading = undefined;
      });
    shelf.loading = { connection, loaded };
    return loaded;
  }

  /**
   * Callers that ask after a change join a reading that began before it: then it is read once more.
   */
  async #loadUnchanged(kind: ListKind, connection: Connection): Promise<Listing> {
    const shelf = this.#shelves[kind];
    for (let again = maxReadingsAgain; ; again -= 1) {
      const { changes } = shelf;
      const listing = await this.#load(kind, connection);
      if (shelf.changes === changes || again === 0) return listing;
    }
  }

  async #load(kind: ListKind, connection: Connection): Promise<Listing> {
    const shelf = this.#shelves[kind];
    const { changes } = shelf;
    let leftOut = 0;
    const fetch = async (cursor: string | undefined) => {
      const page = await this.#page(kind, connection, cursor);
      leftOut += page.leftOut;
      return page;
    };
    const list = await followPages(fetch, this.#clock);
    // A retired connection may still answer, but not for its successor.
    if (connection.isLost) throw new Fault('unavailable', 'the connection was lost meanwhile');
    if (this.isLeftBy(connection)) throw new Fault('unavailable', 'it is for one client alone');
    const now = this.#clock.now();
    const { definitions, leftOut: repeated } = distinctDefinitions(list.items);
    const { scope, ttlMs } = list;
    leftOut += repeated.length;
    const listing = { definitions, leftOut, scope, holdsUntil: now + ttlMs };
    shelf.listing = listing;
    shelf.failure = undefined;
    shelf.isStale = shelf.changes !== changes;
    shelf.staleAt = list.ttlMs > 0 ? now + list.ttlMs : staleAtWithoutWord(kind, connection, now);
    this.#read(kind, listing);
    return listing;
  }

  async #page(
    kind: ListKind,
    connection: Connection,
    cursor: string | undefined,
  ): Promise<Page<Definition> & { readonly leftOut: number }> {
    const { method } = listWords[kind];
    const message = await this.#answer(kind, connection, cursor);
    if (message === undefined) return { items: [], leftOut: 0, ttlMs: 0, scope: 'private' };
    if (message.resultObject === undefined) {
      throw new Fault('protocol_violation', `${method} was answered without a result`, {
        dispatched: 'yes',
      });
    }
    const array = message.resultObject.get(kind);
    const page = array && readPage(message.bytes, array, kind);
    const definitions = page?.definitions ?? [];
    // Over HTTP some arguments go into headers; what cannot be sent so is not offered.
    const isMirrored = connection.era === 'modern' && connection.child === undefined;
    const items = isMirrored ? definitions.filter(({ tool }) => !isUnsendable(tool)) : definitions;
    return {
      items,
      leftOut: (page?.leftOut.length ?? 0) + definitions.length - items.length,
      nextCursor: member(message, 'nextCursor', textOf),
      ttlMs: serverTtlMs(member(message, 'ttlMs', numberOf)),
      scope: scopeOf(member(message, 'cacheScope', textOf)),
    };
  }

  /** Undefined where the server has no such list. */
  async #answer(
    kind: ListKind,
    connection: Connection,
    cursor: string | undefined,
  ): Promise<Message | undefined> {
    const { method, isDeclared } = listWords[kind];
    // Servers without tools often still answer, and wrongly, even without declaring the list.
    if (kind !== 'tools' && !isDeclared(connection.greeting.capabilities)) {
      return undefined;
    }
    const members = cursor === undefined ? '' : `"cursor":${JSON.stringify(cursor)}`;
    const exchange = connection.request(method, { members }, { capabilities: this.#capabilities });
    using _deadline = this.#clock.after(listDeadlineMs, () =>
      exchange.cancel(new Fault('timeout', `no answer to ${method} within ${listDeadlineMs} ms`)),
    );
    const message = await exchange.answer;
    if (message.kind !== 'error') return message;
    const error = message.error ? parsed(message.bytes, message.error) : undefined;
    if (isRecord(error) && error['code'] === rpcCodes.methodNotFound) return undefined;
    throw new Fault('rpc_error', `${method} was refused: ${JSON.stringify(error)}`, {
      dispatched: 'yes',
    });
  }
}

/** A page beyond what can be read is a fault of the list, not the end of the server. */
function readPage(bytes: Buffer, array: Span, kind: ListKind): DefinitionReading {
  try {
    return readDefinitions(bytes, array, kind);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    const detail = `${listWords[kind].method} was answered with a list that cannot be read (${error.reason})`;
    throw new Fault('protocol_violation', detail, { dispatched: 'yes' }, error);
  }
}

function isUnsendable(tool: Tool | undefined): boolean {
  return tool !== undefined && hasBrokenMarks(tool.inputSchema);
}

function emptyShelf(): Shelf {
  const never = { listing: undefined, failure: undefined, loading: undefined };
  return { ...never, isStale: false, staleAt: 0, changes: 0 };
}

/**
 * Without a time, tools and prompts are valid until the server reports a change or is connected
 * again; resources change more often, so a server that does not report changes is asked whenever it
 * is connected.
 */
function staleAtWithoutWord(kind: ListKind, connection: Connection, now: number): number {
  if (kind === 'tools' || kind === 'prompts') return Number.POSITIVE_INFINITY;
  const { resources } = connection.greeting.capabilities as {
    resources?: { listChanged?: unknown };
  };
  return resources?.listChanged === true ? Number.POSITIVE_INFINITY : now;
}

function member<T>(
  message: Message,
  key: EnvelopeKey,
  decode: (bytes: Buffer, span: { start: number; end: number }) => T | undefined,
): T | undefined {
  const span = message.resultObject?.get(key);
  return span && decode(message.bytes, span);
}
