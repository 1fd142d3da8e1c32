// The tasks that clients have begun at servers and that are still known. A task of 2025-11-25 lives
// in the session that began it: this file stores its connection, its owner, and how long it may be
// asked for. The server is kept running meanwhile, because a server that is stopped as idle loses
// the task. A server's message about a task is forwarded to its owner only.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { shareOf } from '../../kernel/owner-counts.ts';
import { localUser, type Principal } from '../../policy/principal.ts';
import type { Connection, RequestOptions } from '../../upstream/connection.ts';
import { numberOf } from '../../wire/decode.ts';
import type { Era } from '../../wire/eras.ts';
import type { Message } from '../../wire/scan.ts';
import { type Caller, type Client, limitedAs } from '../connections/caller.ts';
import {
  type Asker,
  type Beginning,
  type BegunTask,
  isOf,
  type Place,
  type TaskNews,
  type WrittenTask,
} from './begun-task.ts';
import { TaskOwners } from './task-owners.ts';
import {
  type DescribedTask,
  described,
  isTerminal,
  relatedTask,
  taskHeaders,
} from './task-result.ts';

/** How many one client may have; at most so many of all clients together are kept, and of one owner its share. */
const taskLimits = { perClient: 256, inAll: 4_096 };
/** For one whose server does not say how long it is kept, and for one that says longer. */
const longestLifeMs = 86_400_000;
/** Clocks differ, and an answer may be on its way. */
const graceMs = 60_000;
/** How long a server may take to confirm a cancellation. */
const cancelMs = 30_000;
/** A description beyond this is not kept for lists. */
const maxDescription = 16_384;

type Entry = { -readonly [Key in keyof BegunTask]: BegunTask[Key] } & {
  endsAt: number;
  isHeld: boolean;
  expiry: Disposable | undefined;
};

interface Bound {
  readonly most: number;
  readonly isMeant: (task: Entry) => boolean;
}

export class BegunTasks {
  readonly #clock: Clock;
  readonly #tell: (news: TaskNews) => void;
  /** Of each era at most `inAll` of the limits. */
  readonly #tasks = new Map<number, Entry>();
  /** Whose a task of this connection is; those that the host itself follows too (as long as their call runs). */
  readonly #owners = new TaskOwners();
  /** What is to be done when a connection is lost on which the host follows tasks; gone with the calls. */
  readonly #followed = new Map<Connection, Set<() => void>>();
  readonly #limits: typeof taskLimits;
  #next = 1;
  /** Where those of connections go that the next process has, from the hand-over on. */
  #give: ((task: Entry) => void) | undefined;

  constructor(clock: Clock, tell: (news: TaskNews) => void, limits = taskLimits) {
    this.#limits = limits;
    this.#clock = clock;
    this.#tell = tell;
  }

  // --- beginning ---------------------------------------------------------------------------

  /**
   * Refuses a client of 2025-11-25 that has too many, or whose owner has; the oldest finished one makes room
   * first, of the same client or owner if it is theirs that are too many. One that is under way is never given
   * up for another. The tasks of modern clients do not count: for them see `begin`.
   */
  makeRoom({ key, sharingOwner }: Pick<Client, 'key' | 'sharingOwner'>, server: string): void {
    const { perClient, inAll } = this.#limits;
    const bounds: readonly Bound[] = [
      { most: perClient, isMeant: ({ client }) => client.key === key },
      {
        most: sharingOwner === undefined ? Number.POSITIVE_INFINITY : shareOf(inAll),
        isMeant: ({ client }) => client.sharingOwner === sharingOwner,
      },
      { most: inAll, isMeant: () => true },
    ];
    for (const { most, isMeant } of bounds) {
      if (this.#count('legacy', isMeant) >= most) this.#forgetEnded(isMeant);
    }
    if (bounds.every(({ most, isMeant }) => this.#count('legacy', isMeant) < most)) return;
    throw new Fault(
      'overloaded',
      `too many tasks are under way (at most ${perClient} of one client, ${shareOf(inAll)} of one principal, ` +
        `${inAll} of all); wait for some, or cancel them`,
      { server },
    );
  }

  #forgetEnded(isMeant: (task: Entry) => boolean): void {
    const isEnded = (task: Entry) => task.era === 'legacy' && (task.isOver || task.isLost);
    this.#forgetFirst((task) => isEnded(task) && isMeant(task));
  }

  #forgetFirst(isMeant: (task: Entry) => boolean): void {
    for (const task of this.#tasks.values()) if (isMeant(task)) return this.#forget(task);
  }

  #count(era: Era, isMeant: (task: Entry) => boolean = () => true): number {
    let count = 0;
    for (const task of this.#tasks.values()) if (task.era === era && isMeant(task)) count += 1;
    return count;
  }

  /**
   * A modern server turns a call into a task by itself, so nobody can be refused beforehand: the
   * oldest is removed. Its handle still names it; only its connection is no longer kept open for
   * it.
   */
  #makeModernRoom(client: Client): void {
    const limited = limitedAs(client);
    const isOwn = (task: Entry) => task.era === 'modern' && limitedAs(task.client) === limited;
    if (this.#count('modern', isOwn) >= this.#limits.perClient) return this.#forgetFirst(isOwn);
    if (this.#count('modern') >= this.#limits.inAll)
      this.#forgetFirst(({ era }) => era === 'modern');
  }

  begin(beginning: Beginning, { taskId, status, livesMs, ...text }: DescribedTask): BegunTask {
    const known = this.#at(beginning.place.connection, taskId);
    if (known && !known.isOver) return known;
    // Its server uses the id again: what it says from now on is about the new one.
    if (known) this.#forget(known);
    if (beginning.era === 'modern') this.#makeModernRoom(beginning.client);
    const task: Entry = {
      ...beginning,
      serial: this.#next++,
      taskId,
      asking: new Set(),
      isLost: false,
      isOver: false,
      description: undefined,
      endsAt: 0,
      isHeld: true,
      expiry: undefined,
      leftMs: () => Math.max(0, task.endsAt - this.#clock.now()),
    };
    this.#tasks.set(task.serial, task);
    beginning.place.slot.supervisor.leases.hold();
    this.#owners.add(beginning.place.connection, taskId, task);
    this.heard(task, { taskId, status, livesMs, ...text });
    // A connection that accepts no more calls may still have carried this answer.
    if (beginning.place.connection.isLost) this.lost(beginning.place.connection);
    else this.#give?.(task);
    return task;
  }

  // --- from one process to the next --------------------------------------------------------

  /** Those on connections that were given to the next process; here they are not known any more. */
  take(givenAs: (connection: Connection) => number | undefined): readonly WrittenTask[] {
    return [...this.#tasks.values()].flatMap((entry) => this.#taken(entry, givenAs) ?? []);
  }

  #taken(
    entry: Entry,
    givenAs: (connection: Connection) => number | undefined,
  ): WrittenTask | undefined {
    const connection = givenAs(entry.place.connection);
    if (connection === undefined || entry.isLost) return undefined;
    const task = { ...written(entry), connection };
    this.#forget(entry);
    return task;
  }

  /** The same for those that calls become which were begun before, and for what a process before this one still gives. */
  giveLater(
    givenAs: (connection: Connection) => number | undefined,
    give: (task: WrittenTask) => void,
  ): void {
    this.#give = (entry) => {
      const task = this.#taken(entry, givenAs);
      if (task !== undefined) give(task);
    };
  }

  /** One of the process before this one; its connection was handed over with it. */
  restore(task: WrittenTask, place: Place, client: Client): void {
    const { server, tool, era, token, serial, taskId, isOver, isHeld } = task;
    const facts = { server, tool, era, token, serial, taskId, isOver, place, client };
    const entry: Entry = {
      ...facts,
      principal: principalFrom(task.principal),
      progressToken: bytesOf(task.progressToken),
      description: bytesOf(task.description),
      asking: new Set(),
      isLost: false,
      isHeld,
      endsAt: this.#clock.now() + task.leftMs,
      expiry: this.#clock.after(task.leftMs, () => this.#forget(entry), true),
      leftMs: () => Math.max(0, entry.endsAt - this.#clock.now()),
    };
    this.#tasks.set(serial, entry);
    if (isHeld) place.slot.supervisor.leases.hold();
    this.#owners.add(place.connection, taskId, entry);
    if (place.connection.isLost) this.lost(place.connection);
    else this.#give?.(entry);
  }

  /** The number of the next one: those that were begun by the process before this one are counted. */
  get next(): number {
    return this.#next;
  }

  set next(next: number) {
    this.#next = next;
  }

  // --- finding -----------------------------------------------------------------------------

  get(serial: number): BegunTask | undefined {
    return this.#tasks.get(serial);
  }

  /** In the order in which they were begun. */
  ofClient(key: string): readonly BegunTask[] {
    return [...this.#tasks.values()].filter(({ client }) => client.key === key);
  }

  /**
   * The caller's own: two processes of a server may use the same id for tasks of different clients.
   */
  find(server: string, taskId: string, asker: Asker): BegunTask | undefined {
    for (const task of this.#tasks.values()) {
      if (task.taskId === taskId && task.server === server && isOf(task, asker)) return task;
    }
    return undefined;
  }

  // --- what becomes of it ------------------------------------------------------------------

  /** The server has sent a new description. */
  heard(task: BegunTask, { bytes, object, status, livesMs }: DescribedTask): void {
    const entry = this.#tasks.get(task.serial);
    if (!entry || entry.isOver) return;
    const { start, end } = object;
    const isKept = end - start <= maxDescription;
    entry.description = isKept ? Buffer.from(bytes.subarray(start, end)) : undefined;
    this.#live(entry, livesMs);
    if (!isTerminal(status)) return;
    entry.isOver = true;
    // What is completed has a result that is still to be fetched.
    if (status !== 'completed') this.#letGo(entry);
  }

  /** Its result has been given out. */
  fetched(task: BegunTask): void {
    const entry = this.#tasks.get(task.serial);
    if (!entry) return;
    entry.isOver = true;
    this.#letGo(entry);
  }

  #live(entry: Entry, livesMs: number | undefined): void {
    const lives = Math.min(Math.max(0, livesMs ?? longestLifeMs), longestLifeMs) + graceMs;
    entry.endsAt = this.#clock.now() + lives;
    entry.expiry?.[Symbol.dispose]();
    entry.expiry = this.#clock.after(lives, () => this.#forget(entry), true);
  }

  #letGo(entry: Entry): void {
    if (!entry.isHeld) return;
    entry.isHeld = false;
    entry.place.slot.supervisor.leases.release();
  }

  #forget(entry: Entry): void {
    entry.expiry?.[Symbol.dispose]();
    this.#letGo(entry);
    this.#tasks.delete(entry.serial);
    this.#owners.remove(entry.place.connection, entry.taskId, entry);
  }

  /**
   * The connection is closed: tasks of a session are lost; modern ones are still known to the
   * server.
   */
  lost(connection: Connection): void {
    for (const entry of [...this.#tasks.values()]) {
      if (entry.place.connection !== connection) continue;
      if (entry.era === 'modern') this.#forget(entry);
      else {
        entry.isLost = true;
        this.#letGo(entry);
      }
    }
    this.#owners.lost(connection);
    for (const lost of this.#followed.get(connection) ?? []) lost();
  }

  /**
   * Nobody can ask for the tasks of a session that has ended: its servers may stop working on them.
   */
  clientGone(key: string): void {
    for (const entry of [...this.#tasks.values()]) {
      if (entry.client.key !== key || entry.era === 'modern') continue;
      if (!entry.isOver && !entry.isLost) cancelTask(entry.place.connection, entry.taskId);
      this.#forget(entry);
    }
  }

  /** The server is no longer registered: nobody can ask it for a task. */
  serverGone(server: string): void {
    for (const entry of [...this.#tasks.values()]) {
      if (entry.server === server) this.#forget(entry);
    }
  }

  close(): void {
    for (const entry of [...this.#tasks.values()]) this.#forget(entry);
  }

  // --- what a server says ------------------------------------------------------------------

  /**
   * The host itself follows a task for this caller, which does not know that there is one; `lost`
   * is called if the connection ends meanwhile.
   */
  following(
    connection: Connection,
    taskId: string,
    caller: Caller | undefined,
    lost: () => void,
  ): Disposable {
    const owner = caller && { client: caller.client, caller };
    if (owner) this.#owners.add(connection, taskId, owner);
    const followed = this.#followed.get(connection) ?? new Set();
    this.#followed.set(connection, followed);
    followed.add(lost);
    return {
      [Symbol.dispose]: () => {
        if (owner) this.#owners.remove(connection, taskId, owner);
        followed.delete(lost);
        if (followed.size === 0) this.#followed.delete(connection);
      },
    };
  }

  /** The client that a request about a task is for; undefined if the task is not known. */
  ownerOf(
    message: Message,
    from: Connection,
  ): { readonly client: Client; readonly caller: Caller | undefined } | undefined {
    const taskId = relatedTask(message);
    const owner = taskId === undefined ? undefined : this.#owners.of(from, taskId);
    if (!owner || taskId === undefined) return undefined;
    const asking = [...(this.#at(from, taskId)?.asking ?? [])];
    return { client: owner.client, caller: owner.caller ?? asking.at(-1) };
  }

  /** Whether a message of a server is about a task of this connection: by the token of its call, or by its id. */
  isAbout(message: Message, from: Connection): boolean {
    if (message.method === 'notifications/progress')
      return this.#byToken(message, from) !== undefined;
    const taskId = relatedTask(message);
    return taskId !== undefined && this.#owners.of(from, taskId) !== undefined;
  }

  /** A notification about a task: forwarded to its owner. False if it is about something else. */
  told(server: string, message: Message, from: Connection): boolean {
    const { method, bytes, paramsObject } = message;
    if (method === 'notifications/progress') return this.#progressed(server, message, from);
    if (method !== 'notifications/tasks/status' && method !== 'notifications/tasks') return false;
    const said = described(bytes, paramsObject);
    if (!said) return true;
    const { taskId } = said;
    const task = this.#at(from, taskId);
    if (task) this.heard(task, said);
    if (task || from.era === 'modern') this.#tell({ server, taskId, message, task, from });
    return true;
  }

  /** The token of the call that began a task stays valid as long as the task does. */
  #progressed(server: string, message: Message, from: Connection): boolean {
    const task = this.#byToken(message, from);
    if (task?.progressToken) this.#tell({ server, taskId: task.taskId, message, task, from });
    return task !== undefined;
  }

  #byToken({ bytes, paramsObject }: Message, from: Connection): Entry | undefined {
    const span = paramsObject?.find('progressToken');
    const token = span && numberOf(bytes, span);
    if (token === undefined) return undefined;
    for (const task of this.#tasks.values()) {
      if (task.token === token && task.place.connection === from) return task;
    }
    return undefined;
  }

  #at(connection: Connection, taskId: string): Entry | undefined {
    for (const task of this.#tasks.values()) {
      if (task.taskId === taskId && task.place.connection === connection) return task;
    }
    return undefined;
  }
}

function written(entry: Entry): Omit<WrittenTask, 'connection'> {
  const { server, tool, era, token, serial, taskId, isOver, isHeld, client, principal } = entry;
  return {
    ...{ server, tool, era, token, serial, taskId, isOver, isHeld, client: client.key },
    principal: { id: principal.id, role: principal.role },
    progressToken: entry.progressToken?.toString() ?? null,
    description: entry.description?.toString() ?? null,
    leftMs: entry.leftMs(),
  };
}

/**
 * Nobody's credential is verified by that: it says whose the task is. What a path takes away is not known of it, so
 * that one has no role here, and only polls.
 */
function principalFrom({ id, role }: Principal): Principal {
  if (id === localUser.id) return localUser;
  return { id, role: id.includes('/') ? null : role };
}

function bytesOf(text: string | null): Buffer | undefined {
  return text === null ? undefined : Buffer.from(text);
}

/** The answer is not waited for: the server is only notified. */
export function cancelTask(connection: Connection, taskId: string, options?: RequestOptions): void {
  if (connection.isLost) return;
  const params = { members: `"taskId":${JSON.stringify(taskId)}` };
  const limited = { ...options, headers: taskHeaders(connection, taskId), deadlineMs: cancelMs };
  connection.request('tasks/cancel', params, limited).answer.catch(ignored);
}
