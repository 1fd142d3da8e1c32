// What one server offers, as far as it is known. Its tools are read when a connection is opened,
// again when the server reports a change or their time is over, and everything the pipeline needs
// is computed once per reading. A server that cannot list its tools is still usable: then nothing
// is known, no name is refused, and no call is safe to repeat. The other lists are read as well,
// where a client will ask for them.

import { type Definition, isSameList } from '../../catalog/definitions.ts';
import { definitionDigest, type Tool } from '../../catalog/tool.ts';
import type { ServerConfig, ToolConfig } from '../../config/schema.ts';
import { type Clock, within } from '../../kernel/clock.ts';
import { Fault } from '../../kernel/fault.ts';
import { ownValue } from '../../kernel/own-value.ts';
import { type ReplayContract, replayContract } from '../../policy/replay.ts';
import type { Connection } from '../../upstream/connection.ts';
import { marksIn } from '../../wire/mirrored-headers.ts';
import type { Aim } from '../connections/connection-slot.ts';
import { taskSupport } from '../tasks/task-result.ts';
import { Listings, type ListKind, listDeadlineMs } from './listings.ts';

/** A tool with everything the pipeline needs, computed once per reading. */
export interface OfferedTool {
  readonly tool: Tool;
  readonly digest: string;
  readonly contract: ReplayContract;
  readonly config: ToolConfig | undefined;
  readonly hasParamHeaders: boolean;
  /** It can be called only as a task (2025-11-25). */
  readonly needsTask: boolean;
  /** The beginning of its calls' parameters, spelled once. */
  readonly paramsHead: string;
}

export interface CatalogueListener {
  /** Names of tools whose definition was removed or changed. */
  listed(tools: number, invalid: number, changed: readonly string[]): void;
  /** A list was read: for the first time ever, with something new, or as it was. */
  read(kind: ListKind, change: 'first' | 'new' | 'same'): void;
}

export class Catalogue {
  readonly lists: Listings;
  /** The clients that it is for. */
  readonly aim: Aim;
  #config: ServerConfig;
  readonly #clock: Clock;
  readonly #listener: CatalogueListener;
  /** At most one for each kind of list. */
  readonly #shown = new Map<ListKind, readonly Definition[]>();
  #offered: ReadonlyMap<string, OfferedTool> | undefined;
  /** The last list that was read, known to hold or not: what a new one is compared with. */
  #listed: ReadonlyMap<string, OfferedTool> | undefined;

  constructor(aim: Aim, config: ServerConfig, clock: Clock, listener: CatalogueListener) {
    this.aim = aim;
    this.#config = config;
    this.#clock = clock;
    this.#listener = listener;
    this.lists = new Listings(
      clock,
      (kind, { definitions, leftOut }) => this.#arrived(kind, definitions, leftOut),
      aim.clients.capabilities,
    );
  }

  /** Undefined while nothing is known of the present process. */
  get offered(): ReadonlyMap<string, OfferedTool> | undefined {
    return this.#offered;
  }

  get isFresh(): boolean {
    return this.#offered !== undefined && this.lists.isFresh('tools');
  }

  find(tool: string): OfferedTool | undefined {
    return this.#offered?.get(tool);
  }

  /** The tool as last listed, by this process or an earlier one. */
  lastKnown(tool: string): Tool | undefined {
    return (this.#offered ?? this.#listed)?.get(tool)?.tool;
  }

  /** What may be shown of a list, as last known; undefined if it was never read. */
  definitions(kind: ListKind): readonly Definition[] | undefined {
    return this.#shown.get(kind);
  }

  changed(kind: ListKind = 'tools'): void {
    this.lists.changed(kind);
  }

  /** The list is no longer used for decisions; it is still shown until it is read again. */
  forget(): void {
    this.#offered = undefined;
    this.lists.changed('tools');
  }

  /** The operator has changed the settings: what is shown and used is computed again. */
  reconfigure(config: ServerConfig): void {
    this.#config = config;
    const known = this.lists.known('tools');
    if (!known) return;
    this.#listed = this.#readTools(known.definitions);
    if (this.#offered) this.#offered = this.#listed;
  }

  /** Knows what another one knows now. */
  beginAs(other: Catalogue): void {
    this.#offered = other.#offered;
    this.#listed = other.#listed;
    for (const [kind, definitions] of other.#shown) this.#shown.set(kind, definitions);
    this.lists.beginAs(other.lists);
  }

  /** What an earlier run of the host had read. */
  recall(kind: ListKind, definitions: readonly Definition[]): void {
    if (this.#shown.has(kind)) return;
    this.lists.recall(kind, definitions);
    if (kind !== 'tools') this.#shown.set(kind, definitions);
    else this.#listed = this.#readTools(definitions);
  }

  /** As the process before this one had read it; `isOffered`: from the process that still runs. */
  restore(kind: ListKind, definitions: readonly Definition[], isOffered: boolean): void {
    if (kind !== 'tools') return void this.#shown.set(kind, definitions);
    this.#listed = this.#readTools(definitions);
    this.#offered = isOffered ? this.#listed : undefined;
  }

  /** Reads the tools. */
  async load(connection: Connection): Promise<void> {
    await this.lists.load('tools', connection);
  }

  /** Reads them and ignores a failure: for the moment a connection is opened. */
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
    // What an earlier process offered may not hold for this one.
    if (!isRead && !this.lists.isLeftBy(connection)) this.forget();
  }

  #arrived(kind: ListKind, definitions: readonly Definition[], leftOut: number): void {
    const before = this.#shown.get(kind);
    if (kind === 'tools') this.#toolsArrived(definitions, leftOut);
    else this.#shown.set(kind, definitions);
    const isSameAs = before !== undefined && isSameList(before, this.#shown.get(kind) ?? []);
    // One array for all who are shown the same.
    if (isSameAs) this.#shown.set(kind, before);
    this.#listener.read(kind, before === undefined ? 'first' : isSameAs ? 'same' : 'new');
  }

  #toolsArrived(definitions: readonly Definition[], leftOut: number): void {
    const offered = this.#readTools(definitions);
    const changed = differing(this.#listed, offered);
    this.#listed = offered;
    this.#offered = offered;
    this.#listener.listed(offered.size, leftOut, changed);
  }

  /** A hidden tool is offered to nobody, so it is not in the catalogue at all. */
  #readTools(definitions: readonly Definition[]): ReadonlyMap<string, OfferedTool> {
    const visible = definitions.filter(({ key }) => !ownValue(this.#config.tools, key)?.hidden);
    this.#shown.set('tools', visible);
    const tools = visible.flatMap(({ tool }) => (tool ? [tool] : []));
    return new Map(tools.map((tool) => [tool.name, this.#offer(tool)]));
  }

  #offer(tool: Tool): OfferedTool {
    const config = ownValue(this.#config.tools, tool.name);
    return {
      tool,
      digest: definitionDigest(tool),
      contract: contractOf(this.#config, tool.name, tool.annotations.readOnlyHint === true),
      config,
      hasParamHeaders: marksIn(tool.inputSchema).length > 0,
      needsTask: taskSupport(tool.definition) === 'required',
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
  config: Pick<ServerConfig, 'tools' | 'trusted'>,
  tool: string,
  isReadOnly: boolean,
): ReplayContract {
  return replayContract(ownValue(config.tools, tool)?.replay ?? null, config.trusted, isReadOnly);
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
