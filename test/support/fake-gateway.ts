// A whole gateway in the memory of a test: the real host and the real gateway on a clock that the
// test moves, in front of scripted servers, with clients of both eras that write down every frame.

import { configFromObject } from '../../src/config/load.ts';
import type { ServerConfig } from '../../src/config/schema.ts';
import type { ModernSender, Reply, Session, Underway } from '../../src/downstream/contract.ts';
import { Gateway } from '../../src/downstream/gateway.ts';
import type { HostAudit } from '../../src/host/call/call-audit.ts';
import { HostCore } from '../../src/host/host-core.ts';
import type { HostParts } from '../../src/host/host-parts.ts';
import { EventHub, type HostEvent } from '../../src/observe/events.ts';
import { localUser, type Principal } from '../../src/policy/principal.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import type { Frame } from '../../src/wire/frames.ts';
import { scanMessage } from '../../src/wire/scan.ts';
import { FakeHttp } from './fake-http.ts';
import { ManualClock, settled as oneTurn } from './manual-clock.ts';
import { adoptScripted, type Script, ScriptedServer, spawnScripted } from './scripted-server.ts';

const identity = { name: 'holdfast', version: '0.0.0' };

export interface WorldOptions {
  /** More keys of a server's config. */
  readonly config?: Readonly<Record<string, object>>;
  /** More keys of the config. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** What an earlier run has kept. */
  readonly store?: MemoryStore;
  /** Where idempotency keys and the counts of budgets are kept; absent: in memory. */
  readonly kept?: Pick<HostParts, 'keyed' | 'spent'>;
  /** Where calls are written down. */
  readonly audit?: HostAudit;
  /** The servers of the process before, and a clock that began elsewhere. */
  readonly former?: { readonly servers: Readonly<Record<string, ScriptedServer>> };
  readonly clock?: ManualClock;
  /** The clock that all processes of the machine have. */
  readonly machineNow?: () => number;
  /** What every server does that the config does not name. */
  readonly undeclared?: Script;
}

/** Scripts by the name of their server, in the order of the config. */
export function newHost<Name extends string>(
  scripts: Readonly<Record<Name, Script>>,
  options: WorldOptions = {},
) {
  const { config = {}, settings = {}, store, kept: keptParts, audit, undeclared } = options;
  const { clock = new ManualClock(), former, machineNow } = options;
  const names = Object.keys(scripts) as Name[];
  const servers = Object.fromEntries(
    names.map((name) => [name, former?.servers[name] ?? new ScriptedServer(scripts[name])]),
  ) as Record<Name, ScriptedServer>;
  const entries = names.map((name) => [name, { command: `/bin/${name}`, ...config[name] }]);
  const around = { baseDir: '/', env: { HOME: '/' } };
  const input = { hostTools: false, ...settings, mcpServers: Object.fromEntries(entries) };
  const loaded = configFromObject(input, around);
  const events: HostEvent[] = [];
  const hub = new EventHub(() => clock.wallNow());
  hub.subscribe((event) => events.push(event));
  const kept = store ?? new MemoryStore({ clock });
  const others = undeclared && new ScriptedServer(undeclared);
  const spawn = spawnScripted(servers, others);
  const adopt = adoptScripted({ ...former?.servers, ...servers });
  const host = new HostCore({
    ...keptParts,
    edges: { clock, random: () => 0, spawn, adopt, http: new FakeHttp() },
    config: loaded.config,
    configFile: null,
    disabled: loaded.disabled,
    store: kept,
    ...(audit && { audit }),
    ...(machineNow && { machineNow }),
    identity,
    instance: 'test',
    startedBy: 'test',
    events: hub,
    hasClients: true,
    readEntry: (name, entry) => {
      const added = configFromObject({ mcpServers: { [name]: entry } }, around);
      return added.config.mcpServers[name] as ServerConfig;
    },
    readConfig: (input) => configFromObject(input, around),
    release: async () => {},
  });
  return { clock, host, servers, others, events, store: kept, config: loaded.config };
}

export function newGateway<Name extends string>(
  scripts: Readonly<Record<Name, Script>>,
  options: WorldOptions = {},
) {
  const world = newHost(scripts, options);
  const { host, clock, config } = world;
  const { naming, surface, hostTools, listWaitMs } = config;
  const settings = { naming, surface, hostTools, listWaitMs };
  const gateway = new Gateway({ host, clock, identity, settings });
  return {
    ...world,
    gateway,
    /** A legacy client that has been greeted. */
    legacy: (capabilities: object = {}, principal = localUser) =>
      LegacyPeer.greeted(gateway, capabilities, principal),
    modern: (capabilities: object = {}, options: Partial<ModernOptions> = {}) =>
      new ModernPeer(gateway, capabilities, { principal: localUser, key: 'modern', ...options }),
  };
}

export function frameText(frame: Frame): string {
  return Buffer.concat(frame.map((piece) => Buffer.from(piece as string))).toString('utf8');
}

export interface Answered {
  readonly id: unknown;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Where one request is answered, written down. */
export class RecordedReply implements Reply {
  /** What came before the answer. */
  readonly sent: string[] = [];
  readonly answers: string[] = [];
  readonly codes: (number | undefined)[] = [];
  underway: Underway | undefined;

  send(frame: Frame): void {
    this.sent.push(frameText(frame));
  }

  answer(frame: Frame, code?: number): void {
    this.answers.push(frameText(frame));
    this.codes.push(code);
  }

  /** The one answer, parsed; it must be there, and be the only one. */
  get answered(): Answered {
    const [answer, ...more] = this.answers;
    if (answer === undefined || more.length > 0) {
      throw new Error(`answered ${this.answers.length} times: ${this.answers.join(' ')}`);
    }
    return JSON.parse(answer) as Answered;
  }

  get result(): Record<string, unknown> {
    const { result, error } = this.answered;
    if (!result) throw new Error(`an error: ${JSON.stringify(error)}`);
    return result;
  }

  get messages(): readonly Record<string, unknown>[] {
    return this.sent.map((line) => JSON.parse(line) as Record<string, unknown>);
  }
}

function messageText(id: unknown, method: string, params: unknown): string {
  const json = typeof params === 'string' ? params : JSON.stringify(params);
  const idPart = id === undefined ? '' : `"id":${JSON.stringify(id)},`;
  return `{"jsonrpc":"2.0",${idPart}"method":${JSON.stringify(method)},"params":${json}}`;
}

export class LegacyPeer {
  readonly session: Session;
  /** What belongs to no request. */
  readonly heard: string[] = [];
  #nextId = 1;

  constructor(gateway: Pick<Gateway, 'openSession'>, principal: Principal = localUser) {
    this.session = gateway.openSession(principal, {
      send: (frame) => this.heard.push(frameText(frame)),
    });
  }

  static greeted(gateway: Gateway, capabilities: object, principal: Principal): LegacyPeer {
    const peer = new LegacyPeer(gateway, principal);
    const clientInfo = { name: 'peer', version: '1' };
    peer.request('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo });
    peer.note('notifications/initialized');
    return peer;
  }

  /** `params` is a value, or JSON text that is sent as it is. */
  request(method: string, params: unknown = {}, id: unknown = this.#nextId++): RecordedReply {
    const reply = new RecordedReply();
    reply.underway = this.say(messageText(id, method, params), reply);
    return reply;
  }

  note(method: string, params: unknown = {}): void {
    this.say(messageText(undefined, method, params));
  }

  /** Answers something that it was asked. */
  answer(id: unknown, result: unknown): void {
    this.say(JSON.stringify({ jsonrpc: '2.0', id, result }));
  }

  say(text: string, reply?: Reply): Underway | undefined {
    return this.session.receive(scanMessage(Buffer.from(text)), reply);
  }

  get messages(): readonly Record<string, unknown>[] {
    return this.heard.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  methods(): readonly unknown[] {
    return this.messages.map(({ method }) => method);
  }
}

export interface ModernOptions {
  readonly principal: Principal;
  readonly key: string;
  readonly logLevel: string;
  /** The process before has begun what it asks for. */
  readonly goesOn: boolean;
  readonly goesAlong: boolean;
}

export class ModernPeer {
  readonly #gateway: Gateway;
  readonly #meta: Record<string, unknown>;
  readonly #from: Pick<ModernSender, 'principal' | 'client' | 'goesOn' | 'goesAlong'>;
  #nextId = 1;

  constructor(gateway: Gateway, capabilities: object, options: Partial<ModernOptions>) {
    const { principal = localUser, key = principal.id, logLevel, goesOn, goesAlong } = options;
    this.#gateway = gateway;
    this.#from = { principal, client: key, goesOn, goesAlong };
    this.#meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'peer', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
      ...(logLevel === undefined ? {} : { 'io.modelcontextprotocol/logLevel': logLevel }),
    };
  }

  /** `params` is a value, or the members as JSON text that is sent as it is. */
  request(
    method: string,
    params: Readonly<Record<string, unknown>> | string = {},
    meta: object = {},
  ): RecordedReply {
    const reply = new RecordedReply();
    const _meta = { ...this.#meta, ...meta };
    const all =
      typeof params === 'string'
        ? `{${params},"_meta":${JSON.stringify(_meta)}}`
        : { ...params, _meta };
    const message = scanMessage(Buffer.from(messageText(this.#nextId++, method, all)));
    reply.underway = this.#gateway.request(message, this.#from, reply);
    return reply;
  }

  call(name: string, args: object = {}, more: object = {}): RecordedReply {
    return this.request('tools/call', { name, arguments: args, ...more });
  }
}

/**
 * Everything that can happen without time passing has happened: a connection that is busy writes at
 * the end of a turn of the loop, so a request and its answer take some turns.
 */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await oneTurn();
}
