// Operations on servers: register, start, lease, stop, reload. Each names one server; its
// supervisor decides whether and when its process runs.

import type { ServerConfig } from '../../config/schema.ts';
import { Fault } from '../../kernel/fault.ts';
import { serverRequest } from '../../policy/access.ts';
import { localUser } from '../../policy/principal.ts';
import type { Lease } from '../../supervise/leases.ts';
import type { ServerSpec, SpawnOptions } from '../host.ts';
import type { PipelineParts } from '../pipeline-parts.ts';

export class ServerControl {
  readonly #parts: PipelineParts;
  readonly #readEntry: (name: string, entry: Readonly<Record<string, unknown>>) => ServerConfig;

  constructor(
    parts: PipelineParts,
    readEntry: (name: string, entry: Readonly<Record<string, unknown>>) => ServerConfig,
  ) {
    this.#parts = parts;
    this.#readEntry = readEntry;
  }

  async spawn(spec: ServerSpec, options: SpawnOptions): Promise<string> {
    const { access, cache, registry } = this.#parts;
    const { name, ...entry } = spec;
    if (typeof name !== 'string') {
      throw new Fault('invalid_request', 'the spec must include a `name` field');
    }
    if (name === '') throw new Fault('invalid_request', '`name` must be a non-empty string');
    access.authorize(localUser, serverRequest('spawn', name));
    const config = this.#readEntry(name, { lazy: false, ...entry, ...options });
    cache.invalidate(name);
    const server = await registry.replace(name, config, () => this.#parts.assertOpen(name));
    if (config.lazy) return name;
    try {
      const lease = await server.supervisor.lease('spawn');
      lease.release();
    } catch (error) {
      await registry.remove(server);
      throw error;
    }
    return name;
  }

  /** Starts every server that is not lazy, without waiting for any. */
  startPinned(): void {
    for (const { config, slots } of this.#parts.registry.all()) {
      if (config.lazy) continue;
      // One that an operator has stopped is not pinned, also where the process before this one was told so.
      for (const { supervisor } of slots.all()) if (supervisor.leases.isPinned) supervisor.want();
    }
  }

  async stop(name: string): Promise<void> {
    this.#parts.access.authorize(localUser, serverRequest('stop', name));
    const server = this.#parts.registry.hosted(name, this.#parts.namesFor(localUser));
    this.#parts.cache.invalidate(name);
    await Promise.all([...server.slots.all()].map(({ supervisor }) => supervisor.stop()));
  }

  async reload(name: string): Promise<void> {
    this.#parts.access.authorize(localUser, serverRequest('reload', name));
    const server = this.#parts.registry.hosted(name, this.#parts.namesFor(localUser));
    this.#parts.cache.invalidate(name);
    server.offerings.forget();
    server.keepAgain();
    await Promise.all([...server.slots.all()].map(({ supervisor }) => supervisor.reload()));
  }

  async lease(name: string, owner: string): Promise<Lease> {
    this.#parts.access.authorize(localUser, serverRequest('lease', name));
    const { supervisor, slots } = this.#parts.find(name);
    const refusal = slots.refusalOf(undefined);
    if (refusal) throw refusal;
    const pass = supervisor.gate();
    try {
      return await supervisor.lease(owner);
    } finally {
      // A lease says nothing about how calls go: if it had the slot of the probe, the slot is
      // released.
      supervisor.breaker.withdrawn(pass);
    }
  }

  /** A client of the gateway has disconnected: what was kept only for it ends. */
  async clientGone(key: string): Promise<void> {
    const { tasks, registry } = this.#parts;
    tasks.clientGone(key);
    await Promise.all(registry.all().map((server) => server.clientGone(key)));
  }
}
