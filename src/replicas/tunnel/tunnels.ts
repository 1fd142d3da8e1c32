// The tunnels of one replica: opening one to another replica, or to any that accepts work, and accepting those of
// others. A tunnel ends with the replica at its other end, and with that end of it (peers-life.ts). A replica that is
// shutting down is offered no new work, and says so to those that ask for it by its name: what it has can still be reached.

import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../kernel/clock.ts';
import type { Caught } from '../../kernel/contain.ts';
import { type Bus, BusError, type BusMessage } from '../bus.ts';
import { readFrame } from './frames.ts';
import {
  type Answered,
  answerIn,
  isReplicaId,
  openingAnswer,
  openingRequest,
  refused,
  requestIn,
} from './openings.ts';
import { lifeMs, PeersLife } from './peers-life.ts';
import { SealedFrames, type TunnelEnds } from './sealed-frames.ts';
import { Tunnel } from './tunnel.ts';

export interface TunnelsParts {
  readonly bus: Bus;
  readonly clock: Clock;
  /** Begins every subject, so that several fleets of gateways can share a server. */
  readonly subjects: string;
  /** This replica. */
  readonly id: string;
  /** 32 bytes, the same at all replicas and known to nobody else: everything in a tunnel is encrypted with it. */
  readonly secret: Buffer;
  /** A tunnel that another replica has opened. */
  readonly accepted: (tunnel: Duplex) => void;
  /** They are processes of one instance that have replaced each other. */
  readonly isOneMachine?: boolean;
  readonly caught: Caught;
}

/** A peer that answers, answers at once: it only notes the tunnel. */
const openMs = 2_000;
/** After the bus was lost, others come back to it within this time: until then, one that is not there may still run. */
const graceMs = 6_000;
const maxTunnels = 16_384;
const group = 'replicas';
/** More is not sent before the answer has come. */
const maxEarly = 16;

/** An open tunnel, by our name for it. */
interface Open {
  readonly tunnel: Tunnel;
  readonly peer: string;
  /** What the peer calls it. */
  readonly theirs: string;
  /** Absent until the other end has answered. */
  readonly frames?: SealedFrames;
  /** What has come before that was known; at most `maxEarly`. */
  readonly early: Uint8Array[];
}

/** Why there is no connection. */
export type NotConnected =
  /** Nobody is there: the replica is gone, or none accepts work. */
  | 'absent'
  /** It did not answer in time. */
  | 'late'
  /** Whether it is there cannot be said now. */
  | 'unknown';

export class Tunnels implements Disposable {
  readonly #parts: TunnelsParts;
  /** Until they end; at most `maxTunnels`. */
  readonly #open = new Map<string, Open>();
  readonly #life: PeersLife;
  readonly #subscriptions: Disposable[] = [];
  #forAny: Disposable | undefined;
  #isEnding = false;
  /** Called when none is open; undefined: nobody waits for that. */
  #lastClosed: (() => void) | undefined;
  #isFinished = false;
  #wasLost = false;
  /** When the bus was last back after a loss; monotonic. */
  #backAt = Number.NEGATIVE_INFINITY;

  constructor(parts: TunnelsParts) {
    this.#parts = parts;
    const { bus, subjects, id } = parts;
    this.#life = new PeersLife({
      ...parts,
      namesAt: (peer) => this.#openTo(peer).map(({ theirs }) => theirs),
      has: (name) => this.#open.has(name),
      gone: (peer) => {
        for (const { tunnel } of this.#openTo(peer)) tunnel.destroy(gone());
      },
      forgotten: (peer, names) => this.#forgotten(peer, names),
    });
    this.#subscriptions.push(
      bus.subscribe(`${subjects}.tunnel.${id}.*`, (message) => this.#heard(message)),
      this.#life,
      bus.onLoss(() => this.#lost()),
      bus.onReturn(() => this.#back()),
    );
  }

  get size(): number {
    return this.#open.size;
  }

  /** From now on tunnels of others are accepted: before, this replica cannot serve what they pass on. */
  accept(): void {
    const { bus, subjects, id } = this.#parts;
    const opened = (message: BusMessage) => this.#opened(message);
    this.#forAny = bus.subscribe(`${subjects}.open`, opened, group);
    this.#subscriptions.push(bus.subscribe(`${subjects}.open.${id}`, opened));
  }

  /** No new work is wanted; what is here can still be reached. */
  stopAccepting(): void {
    this.#isEnding = true;
    this.#forAny?.[Symbol.dispose]();
    this.#forAny = undefined;
  }

  /**
   * This replica ends when nothing goes through it any more: resolves when no tunnel is open. From that moment on none is
   * opened or accepted, so that whoever asks for one knows that nothing was done.
   */
  finish(): Promise<void> {
    return new Promise((resolve) => {
      this.#lastClosed = () => {
        this.#isFinished = true;
        resolve();
      };
      if (this.#open.size === 0) this.#lastClosed();
    });
  }

  get id(): string {
    return this.#parts.id;
  }

  get isOneMachine(): boolean {
    return this.#parts.isOneMachine === true;
  }

  /** To this replica. */
  async connect(replica: string): Promise<Connected | NotConnected> {
    if (!isReplicaId(replica)) return 'absent';
    const connected = await this.#dialled(`open.${replica}`);
    return connected === 'absent' && this.#isJustBack ? 'unknown' : connected;
  }

  /** To any other replica that accepts work. */
  async connectAny(): Promise<Duplex | NotConnected> {
    const connected = await this.#dialled('open');
    return typeof connected === 'string' ? connected : connected.connection;
  }

  /** Whether this replica runs. Rejects with a BusError if that cannot be said. */
  async isAlive(replica: string): Promise<boolean> {
    const { bus, subjects } = this.#parts;
    try {
      await bus.ask(`${subjects}.life.${replica}`, new Uint8Array(), lifeMs);
      return true;
    } catch (error) {
      if (!(error instanceof BusError) || error.reason === 'lost') throw error;
      if (error.reason === 'absent' && this.#isJustBack) throw error;
      return false;
    }
  }

  /** Called whenever another replica may have taken over what this one has: it has said so, or could not reach us. */
  onDoubt(heard: (why: 'told' | 'back') => void): Disposable {
    const { bus, subjects, id } = this.#parts;
    const told = bus.subscribe(`${subjects}.taken.${id}`, () => heard('told'));
    const back = bus.onReturn(() => heard('back'));
    return {
      [Symbol.dispose]: () => {
        told[Symbol.dispose]();
        back[Symbol.dispose]();
      },
    };
  }

  /** Something of this replica is ours now: it has to look, if it only stood still. */
  tookFrom(replica: string): void {
    const { bus, subjects } = this.#parts;
    if (isReplicaId(replica)) bus.publish(`${subjects}.taken.${replica}`, new Uint8Array());
  }

  async #dialled(word: string): Promise<Connected | NotConnected> {
    try {
      return await this.#dial(word);
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      return error.reason === 'lost' ? 'unknown' : error.reason;
    }
  }

  /** Rejects with a BusError. */
  async #dial(word: string): Promise<Connected> {
    const { bus, id, subjects, secret } = this.#parts;
    if (this.#isFinished) throw new BusError('lost', 'this replica ends');
    if (this.#open.size >= maxTunnels) {
      throw new BusError('lost', `${maxTunnels} connections to other replicas are open`);
    }
    const opener = { replica: id, tunnel: newName() };
    const name = opener.tunnel;
    let send: (frame: Buffer) => void = () => {};
    const tunnel = this.#newTunnel(name, (frame) => send(frame));
    const early: Uint8Array[] = [];
    // Before it is answered: the other end may begin at once.
    this.#open.set(name, { tunnel, peer: '', theirs: '', early });
    const subject = `${subjects}.${word}`;
    let acceptor: Answered | undefined;
    try {
      const answer = await bus.ask(subject, openingRequest(secret, subject, opener), openMs);
      acceptor = answerIn(secret, opener, answer);
    } catch (error) {
      this.#closed(name);
      throw error;
    }
    if (acceptor === undefined) {
      this.#closed(name);
      throw new BusError('lost', 'the other replica has too many connections, or another key');
    }
    // It may have been ended meanwhile, with the bus.
    if (tunnel.destroyed) throw gone();
    const frames = new SealedFrames(secret, { opener, acceptor }, 'opener');
    send = this.#sender(frames, acceptor);
    const { replica: peer, tunnel: theirs } = acceptor;
    const open = { tunnel, peer, theirs, frames, early: [] };
    this.#begin(name, open);
    for (const body of early) this.#take(open, body);
    // And it may have been reset in the same turn: that one serves nobody any more.
    if (tunnel.destroyed) throw new BusError('absent', 'the other replica has ended');
    return { connection: tunnel, isEnding: acceptor.isEnding };
  }

  #newTunnel(name: string, send: (frame: Buffer) => void): Tunnel {
    const maxBytes = () => this.#parts.bus.maxBytes;
    return new Tunnel({ send, maxBytes, closed: () => this.#closed(name) });
  }

  #sender(frames: SealedFrames, to: TunnelEnds['opener']): (frame: Buffer) => void {
    const { bus, subjects } = this.#parts;
    const subject = `${subjects}.tunnel.${to.replica}.${to.tunnel}`;
    return (frame) => bus.publish(subject, frames.seal(frame));
  }

  /** Another replica opens one. */
  #opened({ subject, body, answer }: BusMessage): void {
    const { id, secret, accepted } = this.#parts;
    const opener = requestIn(secret, subject, body);
    // When this one is gone, whoever asks is told that nobody was there.
    if (opener === undefined || this.#isFinished) return;
    if (this.#open.size >= maxTunnels) return answer(refused);
    const acceptor = { replica: id, tunnel: newName(), isEnding: this.#isEnding };
    const frames = new SealedFrames(secret, { opener, acceptor }, 'acceptor');
    const tunnel = this.#newTunnel(acceptor.tunnel, this.#sender(frames, opener));
    const { replica: peer, tunnel: theirs } = opener;
    this.#begin(acceptor.tunnel, { tunnel, peer, theirs, frames, early: [] });
    answer(openingAnswer(secret, opener, acceptor));
    accepted(tunnel);
  }

  #begin(name: string, open: Open): void {
    this.#open.set(name, open);
    this.#life.began(open.peer);
  }

  #heard({ subject, body }: BusMessage): void {
    const name = subject.slice(subject.lastIndexOf('.') + 1);
    const open = this.#open.get(name);
    if (open === undefined) return;
    if (open.frames !== undefined) this.#take(open, body);
    else if (open.early.length < maxEarly) open.early.push(body);
  }

  /** What is no message of the other end is ignored; a missing one ends the tunnel: what follows is another text. */
  #take({ tunnel, frames }: Open, body: Uint8Array): void {
    const opened = frames?.open(body);
    if (opened === 'gap') return void tunnel.destroy(gone());
    const frame = opened && readFrame(opened);
    if (frame !== undefined) tunnel.receive(frame);
  }

  #closed(name: string): void {
    const open = this.#open.get(name);
    this.#open.delete(name);
    if (open !== undefined) this.#life.ended(open.peer);
    if (this.#open.size === 0) this.#lastClosed?.();
  }

  #openTo(peer: string): readonly Open[] {
    return [...this.#open.values()].filter((open) => open.peer === peer);
  }

  /** As if it had said so itself: what it has sent before is still read. */
  #forgotten(peer: string, names: ReadonlySet<string>): void {
    for (const { tunnel, theirs } of this.#openTo(peer)) {
      if (names.has(theirs)) tunnel.receive({ kind: 'reset' });
    }
  }

  #lost(): void {
    this.#wasLost = true;
    this.#endAll();
  }

  #back(): void {
    if (this.#wasLost) this.#backAt = this.#parts.clock.now();
  }

  get #isJustBack(): boolean {
    return this.#parts.clock.now() - this.#backAt < graceMs;
  }

  #endAll(): void {
    for (const { tunnel } of [...this.#open.values()]) tunnel.destroy(gone());
  }

  [Symbol.dispose](): void {
    this.stopAccepting();
    this.#endAll();
    for (const subscription of this.#subscriptions.splice(0)) subscription[Symbol.dispose]();
  }
}

/** A connection to another replica. */
interface Connected {
  readonly connection: Duplex;
  /** It shuts down: it goes on with what it has, and wants no new work. */
  readonly isEnding: boolean;
}

function newName(): string {
  return randomBytes(12).toString('hex');
}

function gone(): BusError {
  return new BusError('lost', 'the other replica is gone');
}
