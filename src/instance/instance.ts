// Makes this process the instance of a config: takes the lock, and opens the control socket. Of several
// processes that try at once one succeeds; the others learn who it is.

import type { Socket } from 'node:net';
import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import { makePrivateFolder } from '../kernel/private-folder.ts';
import { join } from './control-client.ts';
import { ControlServer, type ControlServerParts, type DifferingWindow } from './control-server.ts';
import { type InstanceLock, lockState, takeLock } from './lock.ts';
import { foreignEndMs, holderIn, isAlive, type LockHolder, ownHolder } from './lock-holder.ts';
import { assertOwnFolder } from './own-path.ts';
import type { InstancePlace } from './place.ts';

export type Claimed =
  | { readonly kind: 'claimed'; readonly instance: OwnInstance }
  | { readonly kind: 'held'; readonly by: LockHolder };

/** This process is the instance. */
export class OwnInstance implements AsyncDisposable {
  readonly place: InstancePlace;
  readonly #lock: InstanceLock;
  readonly #self: LockHolder;
  readonly #clock: Clock;
  #control: ControlServer | undefined;
  #isAsked = false;
  /** An end of this process gives nothing up: another one of the same pid-holder is the instance. */
  #isOfOther: boolean;

  constructor(
    place: InstancePlace,
    lock: InstanceLock,
    self: LockHolder,
    { clock, isOfFormer }: { readonly clock: Clock; readonly isOfFormer: boolean },
  ) {
    this.place = place;
    this.#lock = lock;
    this.#self = self;
    this.#clock = clock;
    this.#isOfOther = isOfFormer;
  }

  /** What the process before had is this one's. */
  take(): void {
    this.#isOfOther = false;
  }

  /** By which it is known, and signalled: that of the pid-holder where there is one. */
  get pid(): number {
    return this.#self.pid;
  }

  /** The windows whose variables have other values than those of this process. */
  get differing(): readonly DifferingWindow[] {
    return this.#control?.differing ?? [];
  }

  /** How many requests of operators have no answer yet. */
  get underWay(): number {
    return this.#control?.underWay ?? 0;
  }

  /** From now on others can reach it. */
  async listen(parts: Omit<ControlServerParts, 'path'>): Promise<void> {
    this.#control = await ControlServer.open({ ...parts, path: this.place.socket });
  }

  /** Whoever wants to be the instance waits from now on until this one has ended. */
  async tellEnding(): Promise<void> {
    await this.#lock.tell({ ...this.#self, isEnding: true });
  }

  /**
   * Nothing new is begun; resolves when what operators have asked for is done, or the time is over. `isAsked`:
   * somebody wants it to end, and may want to start another one in its place.
   */
  async drain(ms: number, isAsked: boolean): Promise<void> {
    this.#isAsked = isAsked;
    await Promise.all([this.tellEnding(), this.#control?.drain(ms)]);
  }

  /** A connection that an earlier process of this instance has greeted. */
  adopt(socket: Socket): void {
    this.#control?.adopt(socket);
  }

  /** The fence: other processes reach the next one. Resolves when what operators have begun here is answered. */
  async handOver(): Promise<void> {
    await this.#control?.handOver();
  }

  /** Another process of the same pid-holder is the instance now: the lock and the path of the socket are that one's. */
  async leave(): Promise<void> {
    this.#isOfOther = true;
    await this.#control?.[Symbol.asyncDispose]();
  }

  /** Nobody can reach it any more. It keeps the lock: the next instance must find the database closed. */
  async stopListening(): Promise<void> {
    await this.#control?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOfOther) return;
    await this.stopListening();
    const { startedBy } = this.#self;
    const endedAt = this.#clock.wallNow();
    await this.#lock.release({ endedAt, isAsked: this.#isAsked, startedBy });
  }
}

/** How long a process that cannot be judged by its pid may take until it listens. */
const foreignStartMs = 60_000;

export interface InstanceClaim {
  readonly program: string;
  readonly startedBy: 'serve' | 'connect';
  /** Of the pid-holder; absent: this process has none. */
  readonly pid?: number | undefined;
  /** Until it is taken, an end of this process leaves it to the process before. */
  readonly isOfFormer?: boolean | undefined;
}

/** Throws a Fault, or an error of the system if the folder cannot be used. */
export async function claimInstance(
  place: InstancePlace,
  clock: Clock,
  { program, startedBy, pid = process.pid, isOfFormer = false }: InstanceClaim,
): Promise<Claimed> {
  await makePrivateFolder(place.folder);
  await assertOwnFolder(place.folder);
  const self = { ...(await ownHolder(program, clock.wallNow(), pid)), startedBy };
  // An earlier serving process of the same pid-holder has left it to this one.
  const isOurs = (holder: LockHolder) => pid !== process.pid && isSameHolder(holder, self);
  const isHeld = async (holder: LockHolder) =>
    isOurs(holder)
      ? false
      : ((await isAlive(holder)) ??
        // It may not listen yet, or no more.
        (isRecent(clock, holder.since, foreignStartMs) ||
          (holder.isEnding &&
            isRecent(clock, (await lockState(place.folder)).writtenAt, foreignEndMs)) ||
          (await answers(place, clock, program))));
  const attempt = await takeLock(place.folder, self, isHeld);
  if (attempt.kind === 'held') return attempt;
  const instance = new OwnInstance(place, attempt.lock, self, { clock, isOfFormer });
  return { kind: 'claimed', instance };
}

function isSameHolder(one: LockHolder, other: LockHolder): boolean {
  const { pid, start, boot, pidNamespace } = one;
  const isSame = pid === other.pid && start === other.start;
  return isSame && boot === other.boot && pidNamespace === other.pidNamespace;
}

/** A time in the future says nothing: the clock was changed. */
function isRecent(clock: Clock, at: number, ms: number): boolean {
  const ago = clock.wallNow() - at;
  return ago >= 0 && ago < ms;
}

/** The living process that is the instance, whether it can be reached or not; undefined if there is none. */
export async function holderOf({ folder }: InstancePlace): Promise<LockHolder | undefined> {
  const holder = holderIn((await lockState(folder)).text);
  return holder !== undefined && (await isAlive(holder)) === true ? holder : undefined;
}

/** For a process in another container, whose pid says nothing here. */
async function answers(place: InstancePlace, clock: Clock, program: string): Promise<boolean> {
  try {
    const found = await join({ path: place.socket, clock, program, as: 'operator' });
    found?.socket.destroy();
    return found !== undefined;
  } catch (error) {
    // Somebody is there, and cannot be understood.
    if (error instanceof Fault) return true;
    throw error;
  }
}
