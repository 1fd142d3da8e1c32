// Servers that are not in a config: a program calls a command, and its process is kept in the idle
// pool like any other. A program can call any number of commands, so they are not stored for ever:
// when there are too many, those that have ended and are unused are removed, least recently used
// first. One that never started successfully is removed at once.

import { hash } from 'node:crypto';
import type { ServerConfig } from '../../config/schema.ts';
import type { Registry } from './registry.ts';
import type { Server } from './server.ts';

/** So many are remembered that are not running; what runs is bounded by `maxIdle` and by who calls. */
export const maxRemembered = 64;

interface Undeclared {
  readonly server: Server;
  /** Calls under way. */
  calls: number;
}

export class UndeclaredServers {
  readonly #registry: Registry;
  readonly #readEntry: (name: string, command: readonly string[]) => ServerConfig;
  /** By name, least recently used first; at most `maxRemembered` and those that run or are called. */
  readonly #servers = new Map<string, Undeclared>();
  /** By name: those that are being forgotten, for as long as that takes. */
  readonly #leaving = new Map<string, Promise<void>>();

  constructor(
    registry: Registry,
    readEntry: (name: string, command: readonly string[]) => ServerConfig,
  ) {
    this.#registry = registry;
    this.#readEntry = readEntry;
  }

  get size(): number {
    return this.#servers.size;
  }

  /** Registers the command if it is not known, and calls it by its name. */
  async use<T>(command: readonly string[], call: (name: string) => Promise<T>): Promise<T> {
    const name = `command.${hash('sha256', JSON.stringify(command)).slice(0, 16)}`;
    // Its name is free only when the one before has ended.
    for (let leaving = this.#leaving.get(name); leaving; leaving = this.#leaving.get(name)) {
      await leaving;
    }
    const used = this.#servers.get(name) ?? this.#add(name, command);
    this.#servers.delete(name);
    this.#servers.set(name, used);
    used.calls += 1;
    try {
      return await call(name);
    } finally {
      used.calls -= 1;
      if (used.calls === 0 && used.server.greeting === undefined) await this.#forget(name, used);
      await this.#makeRoom();
    }
  }

  #add(name: string, command: readonly string[]): Undeclared {
    const known = this.#registry.get(name);
    const server = known ?? this.#registry.add(name, this.#readEntry(name, command));
    return { server, calls: 0 };
  }

  async #makeRoom(): Promise<void> {
    const idle = [...this.#servers].filter(([, one]) => one.calls === 0 && hasEnded(one.server));
    const surplus = idle.slice(0, Math.max(0, idle.length - maxRemembered));
    await Promise.all(surplus.map(([name, one]) => this.#forget(name, one)));
  }

  #forget(name: string, { server }: Undeclared): Promise<void> {
    this.#servers.delete(name);
    const leaving = this.#registry.remove(server).finally(() => this.#leaving.delete(name));
    this.#leaving.set(name, leaving);
    return leaving;
  }
}

function hasEnded({ slots }: Server): boolean {
  for (const { supervisor } of slots.all()) {
    const { kind } = supervisor.phase;
    if ((kind !== 'idle' && kind !== 'ejected') || supervisor.leases.isWanted) return false;
  }
  return true;
}
