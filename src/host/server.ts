// One registered server: its config, its supervision, its place for calls and what it offers. Here
// the pieces meet that know nothing of each other: a transport is chosen by the config, and the
// supervisor is given a way to make a connection that is ready to be called.

import type { ServerConfig, ToolConfig } from '../config/schema.ts';
import { specHash } from '../config/spec-hash.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import type { EventHub, Noise } from '../observe/events.ts';
import { Admission } from '../supervise/admission.ts';
import type { Spawn } from '../supervise/child.ts';
import { Supervisor, type SupervisorPolicy } from '../supervise/supervisor.ts';
import type { Connection, ConnectionListener, Greeting } from '../upstream/connection.ts';
import { connectHttp, type HttpParts, NotStreamable } from '../upstream/http.ts';
import type { HttpClient } from '../upstream/http-client.ts';
import type { Identity, Verdicts } from '../upstream/negotiate.ts';
import { connectSse } from '../upstream/sse.ts';
import { connectStdio } from '../upstream/stdio.ts';
import type { Message } from '../wire/scan.ts';
import { Catalogue } from './catalogue.ts';

/** Everything outside the process that a server is reached through. */
export interface Edges {
  readonly clock: Clock;
  readonly random: Random;
  readonly spawn: Spawn;
  readonly http: HttpClient;
}

export interface ServerParts extends Edges {
  readonly events: EventHub;
  readonly verdicts: Verdicts;
  readonly identity: Identity;
  /** Tools whose definition changed: what was remembered of them is void. */
  readonly toolsChanged: (server: string, tools: readonly string[]) => void;
  /** A connection was made; the idle pool wants to know. */
  readonly connected: () => void;
}

/** A remote server comes back by itself, however long it was away: its delay grows to this. */
const longestRemoteDelayMs = 300_000;
const firstRemoteDelayMs = 500;
const healthyMs = 60_000;

export class Server {
  readonly name: string;
  readonly config: ServerConfig;
  readonly specHash: string;
  readonly supervisor: Supervisor<Connection>;
  readonly admission: Admission;
  readonly catalogue: Catalogue;
  readonly #parts: ServerParts;
  readonly #noise = new Map<Noise, number>();
  /** The last lines of the last process, kept for status when it is gone. */
  #lastStderr: readonly string[] = [];
  #greeting: Greeting | undefined;
  readonly #hasToolConfig: boolean;

  constructor(name: string, config: ServerConfig, parts: ServerParts) {
    this.name = name;
    this.config = config;
    this.specHash = specHash(config);
    this.#hasToolConfig = Object.keys(config.tools).length > 0;
    this.#parts = parts;
    this.admission = new Admission(name, config.concurrency, config.queue);
    this.catalogue = new Catalogue(config, parts.clock, {
      listed: (tools, invalid, changed) => {
        parts.events.emit({ kind: 'tools', server: name, tools, invalid });
        if (changed.length > 0) parts.toolsChanged(name, changed);
      },
    });
    this.supervisor = new Supervisor({
      server: name,
      clock: parts.clock,
      random: parts.random,
      events: parts.events,
      policy: policyOf(config),
      connect: (generation, signal, lost) => this.#connect(generation, signal, lost),
      connected: ({ greeting }) => {
        this.#greeting = greeting;
        parts.connected();
      },
    });
  }

  /** What the operator says about a tool; for most servers there is nothing to look up. */
  toolConfig(tool: string): ToolConfig | undefined {
    return this.#hasToolConfig ? this.config.tools[tool] : undefined;
  }

  get stderr(): readonly string[] {
    return this.supervisor.connection?.stderr ?? this.#lastStderr;
  }

  /** What it said of itself when it was last connected. */
  get greeting(): Greeting | undefined {
    return this.#greeting;
  }

  get noise(): ReadonlyMap<Noise, number> {
    return this.#noise;
  }

  // --- making a connection -----------------------------------------------------------------

  async #connect(
    generation: number,
    signal: AbortSignal,
    lost: ConnectionListener['lost'],
  ): Promise<Connection> {
    const connection = await this.#open(generation, signal, {
      lost,
      lastWords: (stderr) => {
        this.#lastStderr = stderr;
      },
      notification: (message) => this.#notification(message),
      noise: (noise) => this.#countNoise(noise),
    });
    const abort = () => void connection.close('hung');
    signal.addEventListener('abort', abort);
    if (!signal.aborted) await this.catalogue.tryLoad(connection);
    signal.removeEventListener('abort', abort);
    if (signal.aborted) {
      await connection.close('hung');
      throw signal.reason;
    }
    this.#subscribe(connection);
    return connection;
  }

  #open(
    generation: number,
    signal: AbortSignal,
    listener: ConnectionListener,
  ): Promise<Connection> {
    const { config, name } = this;
    const { spawn, clock, identity, verdicts } = this.#parts;
    if (config.type !== 'stdio') return this.#openRemote(generation, signal, listener);
    const { command, args, env, inheritEnv, cwd, limits } = config;
    const { memoryMb, processes, frameBytes } = limits;
    const spec = { name, command, args, env, inheritEnv, cwd, memoryMb, processes };
    const parts = { server: name, spec, specHash: this.specHash, frameBytes };
    return connectStdio(
      { ...parts, spawn, clock, identity, verdicts },
      generation,
      signal,
      listener,
    );
  }

  async #openRemote(
    generation: number,
    signal: AbortSignal,
    listener: ConnectionListener,
  ): Promise<Connection> {
    const { config, name, specHash } = this;
    if (config.type === 'stdio') throw new Error(`${name} is not a remote server`);
    const { http, clock, identity, verdicts } = this.#parts;
    const { headers, limits } = config;
    const parts: HttpParts = {
      server: name,
      url: new URL(config.url),
      headers,
      specHash,
      frameBytes: limits.frameBytes,
      http,
      clock,
      identity,
      verdicts,
    };
    if (config.type === 'sse') return connectSse(parts, generation, signal, listener);
    try {
      return await connectHttp(parts, generation, signal, listener);
    } catch (error) {
      if (!(error instanceof NotStreamable)) throw error;
      return connectSse(parts, generation, signal, listener);
    }
  }

  /** A modern server says that its tools changed only to those who asked to be told. */
  #subscribe(connection: Connection): void {
    const { tools } = connection.greeting.capabilities as { tools?: { listChanged?: unknown } };
    if (connection.era !== 'modern' || tools?.listChanged !== true) return;
    const members = '"notifications":{"toolsListChanged":true}';
    const subscription = connection.request(
      'subscriptions/listen',
      { members },
      { background: true },
    );
    // Without it the list is simply read again when its time is over.
    subscription.answer.catch(() => {});
  }

  #notification(message: Message): void {
    if (message.method === 'notifications/tools/list_changed') this.catalogue.changed();
  }

  /** Counted always, told at every power of ten: a flood must not become a flood of events. */
  #countNoise(noise: Noise): void {
    const count = (this.#noise.get(noise) ?? 0) + 1;
    this.#noise.set(noise, count);
    if (Number.isInteger(Math.log10(count))) {
      this.#parts.events.emit({ kind: 'noise', server: this.name, noise, count });
    }
  }
}

function policyOf(config: ServerConfig): SupervisorPolicy {
  const { circuit, keepAliveMs, startTimeoutMs, callTimeoutMs } = config;
  return {
    restart: {
      max: config.restart?.max ?? null,
      windowMs: config.restart?.windowMs ?? longestRemoteDelayMs,
      minDelayMs: config.restart?.minDelayMs ?? firstRemoteDelayMs,
      maxDelayMs: config.restart?.maxDelayMs ?? longestRemoteDelayMs,
      healthyMs,
    },
    // Every way out of a call gives the slot back; the expiry is for the way nobody thought of.
    circuit: { ...circuit, probeMs: startTimeoutMs + callTimeoutMs },
    keepAliveMs,
    startTimeoutMs,
  };
}
