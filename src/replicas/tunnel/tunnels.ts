// The tunnels of one replica: opening one to another replica, or to any that accepts work, and accepting those of
// others. A peer with open tunnels is asked for a sign of life every two seconds, because the bus says nothing of a
// peer that was killed; if it is gone, its tunnels end. A replica that is shutting down is offered no new work, and says so
// to those that ask for it by its name: what it has can still be reached.

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
  readonly caught: Caught;
}

/** A peer that answers, answers at once: it only notes the tunnel. */
const openMs = 2_000;
const lifeEveryMs = 2_000;
const lifeMs = 2_000;
/** One that was late twice is gone. */
const latest = 2;
const maxTunnels = 16_384;
const group = 'replicas';
/** More is not sent before the answer has come. */
const maxEarly = 16;

/** An open tunnel, by our name for it. */
interface Open {
  readonly tunnel: Tunnel;
  readonly peer: string;
  /** Absent until the other end has answered. */
  readonly frames?: SealedFrames;
  /** What has come before that was known; at most `maxEarly`. */
  readonly early: Uint8Array[];
}

interface Peer {
  tunnels: number;
  late: number;
  timer: Disposable | undefined;
}

export class Tunnels implements Disposable {
  readonly #parts: TunnelsParts;
  /** Until they end; at most `maxTunnels`. */
  readonly #open = new Map<string, Open>();
  /** Those with open tunnels, each until its last one ends. */
  readonly #peers = new Map<string, Peer>();
  readonly #subscriptions: Disposable[] = [];
  #forAny: Disposable | undefined;
  #isEnding = false;

  constructor(parts: TunnelsParts) {
    this.#parts = parts;
    const { bus, subjects, id } = parts;
    this.#subscriptions.push(
      bus.subscribe(`${subjects}.tunnel.${id}.*`, (message) => this.#heard(message)),
      bus.subscribe(`${subjects}.life.${id}`, (message) => message.answer(new Uint8Array())),
      bus.onLoss(() => this.#endAll()),
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

  get id(): string {
    return this.#parts.id;
  }

  /** To this replica; undefined if it is gone. Rejects with a BusError if that cannot be said. */
  async connect(replica: string): Promise<Connected | undefined> {
    return isReplicaId(replica) ? await this.#dial(`open.${replica}`) : undefined;
  }

  /** To any other replica that accepts work; undefined if there is none, or that cannot be said. */
  async connectAny(): Promise<Duplex | undefined> {
    try {
      return (await this.#dial('open'))?.connection;
    } catch (error) {
      if (error instanceof BusError) return undefined;
      throw error;
    }
  }

  /** Whether this replica runs. Rejects with a BusError if that cannot be said. */
  async isAlive(replica: string): Promise<boolean> {
    const { bus, subjects } = this.#parts;
    try {
      await bus.ask(`${subjects}.life.${replica}`, new Uint8Array(), lifeMs);
      return true;
    } catch (error) {
      if (error instanceof BusError && error.reason !== 'lost') return false;
      throw error;
    }
  }

  /** Called whenever another replica may have taken over what this one has: it has said so, or could not reach us. */
  onDoubt(heard: () => void): Disposable {
    const { bus, subjects, id } = this.#parts;
    const told = bus.subscribe(`${subjects}.taken.${id}`, heard);
    const back = bus.onReturn(heard);
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

  async #dial(word: string): Promise<Connected | undefined> {
    const { bus, id, subjects, secret } = this.#parts;
    if (this.#open.size >= maxTunnels) {
      throw new BusError('lost', `${maxTunnels} connections to other replicas are open`);
    }
    const opener = { replica: id, tunnel: newName() };
    const name = opener.tunnel;
    let send: (frame: Buffer) => void = () => {};
    const tunnel = this.#newTunnel(name, (frame) => send(frame));
    const early: Uint8Array[] = [];
    // Before it is answered: the other end may begin at once.
    this.#open.set(name, { tunnel, peer: '', early });
    const subject = `${subjects}.${word}`;
    let acceptor: Answered | undefined;
    try {
      const answer = await bus.ask(subject, openingRequest(secret, subject, opener), openMs);
      acceptor = answerIn(secret, opener, answer);
    } catch (error) {
      this.#open.delete(name);
      if (error instanceof BusError && error.reason !== 'lost') return undefined;
      throw error;
    }
    if (acceptor === undefined) {
      this.#open.delete(name);
      throw new BusError('lost', 'the other replica has too many connections, or another key');
    }
    // It may have been ended meanwhile, with the bus.
    if (tunnel.destroyed) return undefined;
    const frames = new SealedFrames(secret, { opener, acceptor }, 'opener');
    send = this.#sender(frames, acceptor);
    const open = { tunnel, peer: acceptor.replica, frames, early: [] };
    this.#begin(name, open);
    for (const body of early) this.#take(open, body);
    // And it may have been reset in the same turn.
    if (tunnel.destroyed) return undefined;
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
    if (opener === undefined) return;
    if (this.#open.size >= maxTunnels) return answer(refused);
    const acceptor = { replica: id, tunnel: newName(), isEnding: this.#isEnding };
    const frames = new SealedFrames(secret, { opener, acceptor }, 'acceptor');
    const tunnel = this.#newTunnel(acceptor.tunnel, this.#sender(frames, opener));
    this.#begin(acceptor.tunnel, { tunnel, peer: opener.replica, frames, early: [] });
    answer(openingAnswer(secret, opener, acceptor));
    accepted(tunnel);
  }

  #begin(name: string, open: Open): void {
    this.#open.set(name, open);
    const peer = this.#peers.get(open.peer) ?? { tunnels: 0, late: 0, timer: undefined };
    peer.tunnels += 1;
    this.#peers.set(open.peer, peer);
    if (peer.timer === undefined) this.#askLater(open.peer, peer);
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
    const peer = open && this.#peers.get(open.peer);
    if (open === undefined || peer === undefined) return;
    peer.tunnels -= 1;
    if (peer.tunnels > 0) return;
    peer.timer?.[Symbol.dispose]();
    this.#peers.delete(open.peer);
  }

  #askLater(id: string, peer: Peer): void {
    peer.timer = this.#parts.clock.after(
      lifeEveryMs,
      () => {
        this.#askForLife(id, peer).catch(this.#parts.caught);
      },
      true,
    );
  }

  async #askForLife(id: string, peer: Peer): Promise<void> {
    const { bus, subjects } = this.#parts;
    try {
      await bus.ask(`${subjects}.life.${id}`, new Uint8Array(), lifeMs);
      peer.late = 0;
    } catch (error) {
      peer.late += error instanceof BusError && error.reason === 'absent' ? latest : 1;
    }
    if (this.#peers.get(id) !== peer) return;
    if (peer.late >= latest) this.#end(id);
    else this.#askLater(id, peer);
  }

  /** Ends the tunnels of this peer. */
  #end(peer: string): void {
    for (const open of [...this.#open.values()]) {
      if (open.peer === peer) open.tunnel.destroy(gone());
    }
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
