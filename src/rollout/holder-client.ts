// The holder, as a serving process sees it: a typed face of the inherited channel. Through it processes are started and
// taken over, listening sockets are kept and found again, signals come, and a successor is started. If the holder is
// gone, so is this process, at once: everything that it could still do has lost its parent.

import { type Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ignored } from '../kernel/contain.ts';
import { Fault } from '../kernel/fault.ts';
import { shortageOf } from '../kernel/shortage.ts';
import type {
  ProcessHolder,
  ReaperControl,
  StartedProcess,
  StartPlan,
} from '../supervise/process/start/process-starter.ts';
import type { ProcessIdentity } from '../supervise/process/watch/process-table.ts';
import { HeldChild } from './held-process.ts';
import { holderVariable } from './holder/holder-variable.ts';
import {
  type Asked,
  type ForwardedSignal,
  type HeldExit,
  type Introduction,
  introductionIn,
  linkDescriptor,
  type ReaperFact,
  toldIn,
} from './holder/messages.ts';
import { listeningHandle, type RawHandle, rawHandle } from './holder/raw-handle.ts';

/** What the holder tells without being asked. */
export interface HolderNews {
  signal(name: ForwardedSignal): void;
  /** SIGHUP. */
  hangup(): void;
  /** How many earlier processes still end their work. */
  formers(count: number): void;
  successorEnded(exit: HeldExit): void;
  /** A connection that the other serving process has passed on, as a bare handle. */
  passed(head: unknown, handle: RawHandle): void;
  notice(text: string): void;
}

/** What the channel is, in a process that has one. */
export type Channel = Pick<NodeJS.Process, 'env' | 'ppid' | 'pid' | 'kill' | 'send' | 'on'>;

/** Why the holder has refused something. */
export class HolderRefusal extends Error {
  override readonly name = 'HolderRefusal';
  readonly code: string;
  /** As an error of the system has it. */
  readonly errno = 0;

  constructor(code: string, text: string) {
    super(text);
    this.code = code;
  }
}

interface Answer {
  readonly value: unknown;
  readonly handles: readonly RawHandle[];
}

interface Waiting {
  readonly handles: RawHandle[];
  readonly answered: (answer: Answer) => void;
  readonly refused: (why: Error) => void;
}

/** Undefined unless a holder has started this process. */
export function holderOf(channel: Channel): HolderClient | undefined {
  const text = channel.env[holderVariable];
  // Whoever is started from here is not started by the holder.
  delete channel.env[holderVariable];
  if (text === undefined || channel.send === undefined) return undefined;
  const introduction = introductionIn(text);
  if (introduction === undefined) {
    throw new Fault(
      'unavailable',
      'this version cannot be started by the running one: end it, and start it again',
    );
  }
  return new HolderClient(channel, introduction);
}

export class HolderClient implements ProcessHolder {
  readonly pid: number;
  readonly instance: string;
  readonly ordinal: number;
  readonly isSuccessor: boolean;
  readonly reaper: ReaperControl;
  readonly #channel: Channel;
  /** Each until it is answered. */
  readonly #waiting = new Map<number, Waiting>();
  /** Each until it has ended, or was given up. */
  readonly #children = new Map<number, HeldChild>();
  /** The parts of this process that listen: one each, until it is disposed of. */
  readonly #news = new Set<Partial<HolderNews>>();
  #asks = 0;
  /** As the holder has told last: to this process before anybody here listens. */
  #formers = 0;

  constructor(channel: Channel, { ordinal, instance, role }: Introduction) {
    this.#channel = channel;
    // Later, the parent may be another one.
    this.pid = channel.ppid;
    this.instance = instance;
    this.ordinal = ordinal;
    this.isSuccessor = role === 'successor';
    this.reaper = reaperOver(this);
    channel.on('message', (message: unknown, handle: unknown) => this.#heard(message, handle));
    channel.on('disconnect', () => channel.kill(channel.pid, 'SIGKILL'));
  }

  /** Signals come as messages from now on. */
  listen(news: Partial<HolderNews>): Disposable {
    if (this.#news.size === 0) this.say({ op: 'hello' });
    this.#news.add(news);
    if (this.#formers > 0) news.formers?.(this.#formers);
    return { [Symbol.dispose]: () => void this.#news.delete(news) };
  }

  /** It is the serving process now; a successor says so when it has everything. */
  serving(): void {
    this.say({ op: 'serving' });
  }

  /** Nothing is heard any more: signals come as such. `isInOrder`: with this process everything ends. */
  exiting(isInOrder: boolean): void {
    this.say({ op: 'exiting', isInOrder });
  }

  async start({ line, env, cwd, hasReport }: StartPlan): Promise<StartedProcess> {
    return this.#child(await this.ask({ op: 'spawn', line, env, cwd, hasReport }));
  }

  async take(id: number): Promise<StartedProcess> {
    return this.#child(await this.ask({ op: 'take', id }));
  }

  /** The holder keeps a copy for the next serving process. */
  keepListener(name: string, server: Server): void {
    const handle = listeningHandle(server);
    if (handle !== undefined) this.say({ op: 'keep', name }, handle);
  }

  /** A socket that an earlier serving process has opened; for `listenOn`. */
  async listener(name: string): Promise<RawHandle | undefined> {
    return (await this.ask({ op: 'listener', name })).handles[0];
  }

  /** The link to it. Rejects with a `HolderRefusal` that says why there is none. */
  async startSuccessor(): Promise<Duplex> {
    const [handle] = (await this.ask({ op: 'successor' })).handles;
    if (handle === undefined) throw new HolderRefusal('ENOTCONN', 'there is no link to it');
    return new Socket({ handle, readable: true, writable: true } as object);
  }

  /** The successor is killed, unless it is the serving process by now. Resolves when it has ended. */
  async abandon(): Promise<'ended' | 'serving'> {
    const { value } = await this.ask({ op: 'abandon' });
    return value === false ? 'serving' : 'ended';
  }

  /** In a successor: it is the serving process from now on. False: the rollout was given up. */
  async claim(): Promise<boolean> {
    return (await this.ask({ op: 'claim' })).value === true;
  }

  /** In a successor: the link to the process that serves. */
  link(): Duplex {
    return new Socket({ fd: linkDescriptor, readable: true, writable: true });
  }

  /** To the other serving process; nothing may be read from it or written to it here any more. */
  passSocket(handle: RawHandle, head: unknown): void {
    this.say({ op: 'pass', head }, handle, () => handle.close());
  }

  say(asked: Asked, handle?: RawHandle, sent: () => void = () => {}): void {
    // If it cannot be sent, the holder is gone, and 'disconnect' follows.
    this.#channel.send?.(asked, handle as never, {}, () => sent());
  }

  ask(request: AskedWithout): Promise<Answer> {
    const ask = ++this.#asks;
    return new Promise((answered, refused) => {
      this.#waiting.set(ask, { handles: [], answered, refused });
      this.say({ ...request, ask } as Asked);
    });
  }

  #child({ value, handles }: Answer): HeldChild {
    const { id, pid } = value as { readonly id: number; readonly pid: number };
    const known = this.#children.get(id);
    if (known !== undefined) throw new HolderRefusal('EEXIST', `child ${id} is here already`);
    const child = new HeldChild({
      id,
      pid,
      pipes: handles,
      give: () => {
        this.#children.delete(id);
        this.say({ op: 'give', id });
      },
      released: () => {
        this.#children.delete(id);
        this.say({ op: 'released', id });
      },
    });
    this.#children.set(id, child);
    return child;
  }

  #heard(message: unknown, given: unknown): void {
    const told = toldIn(message);
    const handle = rawHandle(given);
    if (told === undefined) return handle?.close();
    switch (told.op) {
      case 'handle': {
        const waiting = this.#waiting.get(told.ask);
        if (handle !== undefined && waiting === undefined) handle.close();
        else if (handle !== undefined) waiting?.handles.push(handle);
        return;
      }
      case 'answer': {
        const waiting = this.#waiting.get(told.ask);
        this.#waiting.delete(told.ask);
        waiting?.answered({ value: told.value, handles: waiting.handles });
        return;
      }
      case 'refusal': {
        const waiting = this.#waiting.get(told.ask);
        this.#waiting.delete(told.ask);
        waiting?.refused(new HolderRefusal(told.code, told.text));
        return;
      }
      case 'exited':
        // The answer with the child has come before, and is handled in a moment.
        return void setImmediate(() => this.#children.get(told.id)?.exited(told));
      case 'signal':
        return this.#tell((news) => news.signal?.(told.name));
      case 'hangup':
        return this.#tell((news) => news.hangup?.());
      case 'formers':
        this.#formers = told.count;
        return this.#tell((news) => news.formers?.(told.count));
      case 'successor-ended':
        return this.#tell((news) => news.successorEnded?.(told));
      case 'passed':
        if (handle !== undefined) this.#tell((news) => news.passed?.(told.head, handle));
        return;
      case 'notice':
        return this.#tell((news) => news.notice?.(told.text));
    }
  }

  #tell(tell: (news: Partial<HolderNews>) => void): void {
    for (const news of [...this.#news]) tell(news);
  }
}

type WithAsk = Extract<Asked, { readonly ask: number }>;
type AskedWithout = WithAsk extends infer One
  ? One extends WithAsk
    ? Omit<One, 'ask'>
    : never
  : never;

/** The holder's reaper: what it is told here outlives this process. */
function reaperOver(holder: HolderClient): ReaperControl {
  const tell = (change: 'add' | 'remove', what: ReaperFact) =>
    holder.say({ op: 'reaper-tell', change, what });
  const identity = ({ pid, start }: ProcessIdentity) => ({ pid, start });
  return {
    start: async () => {
      await holder.ask({ op: 'reaper' }).catch((error: unknown) => {
        const text = error instanceof Error ? error.message : String(error);
        const kind = shortageOf(error) === undefined ? 'unavailable' : 'overloaded';
        throw new Fault(kind, text, {}, error);
      });
    },
    add: (one) => tell('add', identity(one)),
    remove: (one) => tell('remove', identity(one)),
    addCgroup: (cgroup) => tell('add', { cgroup }),
    removeCgroup: (cgroup) => tell('remove', { cgroup }),
    [Symbol.asyncDispose]: async () => {
      await holder.ask({ op: 'reaper-end' }).catch(ignored);
    },
  };
}
