// What one server offers, as far as it is known: its tools, read when a connection is made, again
// when the server says they changed or their time is over. A server that cannot list its tools is
// still usable: then nothing is known, nothing is refused by name, and nothing is safe to repeat.

import { scopeOf, serverTtlMs } from '../cache/freshness.ts';
import { followPages, type Page } from '../catalog/pages.ts';
import { definitionDigest, readTools, type Tool } from '../catalog/tool.ts';
import type { ServerConfig, ToolConfig } from '../config/schema.ts';
import { type Clock, within } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import { type ReplayContract, replayContract } from '../policy/replay.ts';
import { isRecord } from '../upstream/classify.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Exchange } from '../upstream/exchange.ts';
import { hasParamHeaders } from '../upstream/mirror-headers.ts';
import { valueOf as parsed } from '../wire/decode.ts';
import { rpcCodes } from '../wire/eras.ts';

/** A tool with everything the pipeline decides by, worked out once per listing. */
export interface OfferedTool {
  readonly tool: Tool;
  readonly digest: string;
  readonly contract: ReplayContract;
  readonly config: ToolConfig | undefined;
  readonly hasParamHeaders: boolean;
  /** The beginning of its calls' parameters, spelled once. */
  readonly paramsHead: string;
}

export interface CatalogueListener {
  /** Names of tools whose definition is gone or not what it was. */
  listed(tools: number, invalid: number, changed: readonly string[]): void;
}

/** A server that hangs in tools/list must not be unusable for its calls. */
const listDeadlineMs = 10_000;

export class Catalogue {
  readonly #config: ServerConfig;
  readonly #clock: Clock;
  readonly #listener: CatalogueListener;
  #offered: ReadonlyMap<string, OfferedTool> | undefined;
  /** The last list that was read, known to hold or not: what a new one is compared with. */
  #listed: ReadonlyMap<string, OfferedTool> | undefined;
  #isStale = false;
  #staleAt = Number.POSITIVE_INFINITY;
  #loading: { connection: Connection; loaded: Promise<void> } | undefined;

  constructor(config: ServerConfig, clock: Clock, listener: CatalogueListener) {
    this.#config = config;
    this.#clock = clock;
    this.#listener = listener;
  }

  /** Undefined while nothing is known. */
  get offered(): ReadonlyMap<string, OfferedTool> | undefined {
    return this.#offered;
  }

  get isFresh(): boolean {
    return this.#offered !== undefined && !this.#isStale && this.#clock.now() < this.#staleAt;
  }

  find(tool: string): OfferedTool | undefined {
    return this.#offered?.get(tool);
  }

  changed(): void {
    this.#isStale = true;
  }

  forget(): void {
    this.#offered = undefined;
    this.#isStale = false;
  }

  /** Reads the list; callers on the same connection share one reading. */
  load(connection: Connection): Promise<void> {
    if (this.#loading?.connection === connection) return this.#loading.loaded;
    const loaded = this.#read(connection).finally(() => {
      if (this.#loading?.connection === connection) this.#loading = undefined;
    });
    this.#loading = { connection, loaded };
    return loaded;
  }

  /** Reads it without letting a failure matter: for the moment a connection is made. */
  async tryLoad(connection: Connection): Promise<void> {
    let isRead = false;
    const reading = this.load(connection).then(
      () => {
        isRead = true;
      },
      (error: unknown) => {
        if (!(error instanceof Fault)) throw error;
      },
    );
    await within(this.#clock, listDeadlineMs, reading);
    // What an earlier process offered says nothing about this one.
    if (!isRead) this.forget();
  }

  async #read(connection: Connection): Promise<void> {
    this.#isStale = false;
    const list = await followPages((cursor) => this.#page(connection, cursor), this.#clock);
    // A retired connection may still answer, but no longer for the one that took its place.
    if (connection.isLost) throw new Fault('unavailable', 'the connection was lost meanwhile');
    const { tools, leftOut } = readTools(list.items);
    // Only a server that says how long its list holds is asked again unbidden.
    this.#staleAt = list.ttlMs > 0 ? this.#clock.now() + list.ttlMs : Number.POSITIVE_INFINITY;
    // A hidden tool is offered to nobody, so it is not in the book at all.
    const visible = tools.filter((tool) => !this.#config.tools[tool.name]?.hidden);
    const offered = new Map(visible.map((tool) => [tool.name, this.#offer(tool)]));
    const changed = differing(this.#listed, offered);
    this.#listed = offered;
    this.#offered = offered;
    this.#listener.listed(visible.length, leftOut.length, changed);
  }

  async #page(connection: Connection, cursor: string | undefined): Promise<Page<unknown>> {
    const members = cursor === undefined ? '' : `"cursor":${JSON.stringify(cursor)}`;
    const exchange = connection.request('tools/list', { members });
    const result = await this.#answer(exchange);
    const { tools, nextCursor, ttlMs, cacheScope } = result;
    return {
      items: Array.isArray(tools) ? tools : [],
      nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined,
      ttlMs: serverTtlMs(ttlMs),
      scope: scopeOf(cacheScope),
    };
  }

  async #answer(exchange: Exchange): Promise<Record<string, unknown>> {
    using _deadline = this.#clock.after(listDeadlineMs, () =>
      exchange.cancel(new Fault('timeout', `no answer to tools/list within ${listDeadlineMs} ms`)),
    );
    const message = await exchange.answer;
    if (message.kind === 'error') {
      const error = message.error ? parsed(message.bytes, message.error) : undefined;
      // A server without tools is a server with no tools.
      if (isRecord(error) && error['code'] === rpcCodes.methodNotFound) return {};
      throw new Fault('rpc_error', `tools/list was refused: ${JSON.stringify(error)}`, {
        dispatched: 'yes',
      });
    }
    const result = message.result ? parsed(message.bytes, message.result) : undefined;
    return isRecord(result) ? result : {};
  }

  #offer(tool: Tool): OfferedTool {
    const config = this.#config.tools[tool.name];
    return {
      tool,
      digest: definitionDigest(tool),
      contract: contractOf(this.#config, tool.name, tool.annotations.readOnlyHint === true),
      config,
      hasParamHeaders: hasParamHeaders(tool.inputSchema),
      paramsHead: paramsHead(tool.name),
    };
  }
}

/** The members of a call's parameters up to the caller's own bytes. */
export function paramsHead(tool: string): string {
  return `"name":${JSON.stringify(tool)},"arguments":`;
}

/** The contract of a tool, known or not. */
export function contractOf(
  config: ServerConfig,
  tool: string,
  isReadOnly: boolean,
): ReplayContract {
  return replayContract(config.tools[tool]?.replay ?? null, config.trusted, isReadOnly);
}

function differing(
  before: ReadonlyMap<string, OfferedTool> | undefined,
  after: ReadonlyMap<string, OfferedTool>,
): readonly string[] {
  if (!before) return [];
  return [...before]
    .filter(([name, old]) => after.get(name)?.digest !== old.digest)
    .map(([name]) => name);
}
