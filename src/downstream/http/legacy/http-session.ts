// One legacy client over HTTP, from its `initialize` to its end, with its streams; the gateway has
// its own session object for it. What belongs to a request is sent where that request is answered;
// everything else is sent on exactly one of the streams the client listens on, or waits for one. A
// session is cheap until something is sent in it: streams are set up then. One that an earlier process
// had is begun again in the client's own words; ids of that process name nothing here.

import { hash, randomBytes, randomInt } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { ignored } from '../../../kernel/contain.ts';
import type { UsePlace } from '../../../kernel/use-order.ts';
import type { Principal } from '../../../policy/principal.ts';
import { primedVersion } from '../../../wire/eras.ts';
import { type Frame, notificationFrame } from '../../../wire/frames.ts';
import { type Message, scanMessage } from '../../../wire/scan.ts';
import {
  afterSetup,
  ClientSetup,
  changeOf,
  type SetupRequest,
  setupLine,
} from '../../clients/client-setup.ts';
import type { Outlet, Reply, Session, Underway } from '../../contract.ts';
import type { Edge } from '../http-context.ts';
import { EventStream } from './event-response.ts';
import { type ByteBudget, type KeptEvent, KeptEvents } from './kept-events.ts';
import { eventId, placeOf, Track, type TrackKind, trackName } from './resumable-stream.ts';
import type { SetUpSession } from './setup-bytes.ts';

/** The answer to `initialize`, while it is pending. */
export interface SessionOpening {
  /** The session has ended before it began. */
  sessionEnded(): void;
}

/** What a session needs of the table that contains it. */
export interface SessionTable {
  readonly budget: ByteBudget;
  /** The session was in use until now. */
  used(session: HttpSession): void;
}

/** What another process has sent in a session, and its client may still come back for. */
export interface SentBefore {
  readonly life: string;
  /** How many streams it had. */
  readonly made: number;
  /** Names of streams whose requests were cancelled. */
  readonly abandoned: readonly string[];
  readonly events: readonly KeptEvent[];
}

/** Streams of the next process have other names than those that are made meanwhile where the session was. */
const madeMeanwhile = 1_000_000;

/** The result for a client that resumes a stream. */
export type StreamReturn =
  | 'resumed'
  /** The stream has ended, and nothing was missed. */
  | 'over'
  /** It never existed, or what the client missed is no longer stored. */
  | 'unknown';

/**
 * So many cancelled streams are remembered, so that a client which resumes one learns that it has
 * ended.
 */
const maxAbandoned = 64;

export class HttpSession implements Outlet, SetUpSession {
  readonly id: string;
  readonly principal: Principal;
  /** Monotonic; kept by the table of sessions, and so is its place among them. */
  lastUsedAt = 0;
  place: UsePlace<HttpSession> | undefined;
  opening: SessionOpening | undefined;
  /** What the client has said that a later process needs. */
  readonly setup: ClientSetup;
  /** The bytes of it that are counted, and of what was asked since (setup-bytes). */
  setupBytes = 0;
  askedBytes = 0;
  /** When that was stored last; monotonic. */
  storedAt = 0;
  /** The replica that had it before, as long as something of it may still run there. */
  former: string | undefined;
  readonly #edge: Edge;
  readonly #table: SessionTable;
  readonly #session: Session;
  #events: KeptEvents | undefined;
  /** The streams that can still be used; those listened on newest last. */
  #tracks: Map<string, Track> | undefined;
  #listening: Track[] | undefined;
  /** Names of tracks whose requests were cancelled; at most `maxAbandoned`. */
  #abandoned: Set<string> | undefined;
  #tracksMade = 0;
  /** Resources that are watched again, until its client listens and is told; at most those of `setup`. */
  #untold: Set<string> | undefined;
  /** Part of every event id: another process has another, unless it was handed what was sent here. */
  readonly #life: string;
  /** Keeps from now on what is sent and not under way here. */
  #successor: ((events: readonly KeptEvent[]) => void) | undefined;
  #isClosed = false;

  /** `former` is what its client has said to an earlier process, and `before` what that one has handed over. */
  constructor(
    id: string,
    principal: Principal,
    edge: Edge,
    table: SessionTable,
    former?: ClientSetup,
    before?: SentBefore,
  ) {
    this.id = id;
    this.principal = principal;
    this.#edge = edge;
    this.#table = table;
    this.setup = former ?? new ClientSetup();
    // The client may still answer what the earlier process has asked.
    const firstQuestion = former && randomInt(2 ** 47);
    this.#life = before?.life ?? randomBytes(4).toString('hex');
    this.#session = edge.front.openSession(principal, this, { firstQuestion, key: keyOf(id) });
    if (before) this.#goOn(before);
    if (former) this.#beginAgain(former);
  }

  get protocolVersion(): string | undefined {
    return this.#session.protocolVersion;
  }

  /** Whether its client treats an event without data as a request to reconnect. */
  get isPrimed(): boolean {
    return this.protocolVersion !== undefined && this.protocolVersion >= primedVersion;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether the client is connected, or anything is running. */
  get isBusy(): boolean {
    const isListening = (this.#listening?.length ?? 0) > 0;
    return isListening || this.opening !== undefined || this.#session.inFlight > 0;
  }

  /** Whether any of its requests is running. */
  get isWorking(): boolean {
    return this.#session.inFlight > 0;
  }

  #goOn({ made, abandoned, events }: SentBefore): void {
    this.#tracksMade = made + madeMeanwhile;
    if (abandoned.length > 0) this.#abandoned = new Set(abandoned);
    if (events.length > 0) this.#keptEvents.restore(events);
  }

  /** What a former has sent or ended since it has handed this session over. */
  addSent(events: readonly KeptEvent[]): void {
    if (this.#isClosed) return;
    for (const { stream, frame, kind } of events) if (stream === undefined) this.send(frame, kind);
    this.#keptEvents.restore(events.filter(({ stream }) => stream !== undefined));
  }

  /** Another process has it from now on, and `send` is where it keeps what is sent here: all but what is under way here. */
  handOver(send: (events: readonly KeptEvent[]) => void): SentBefore {
    this.stopListening();
    this.#successor = send;
    const events = this.#events?.takeBut(new Set(this.#tracks?.keys())) ?? [];
    const abandoned = [...(this.#abandoned ?? [])];
    return { life: this.#life, made: this.#tracksMade, abandoned, events };
  }

  /** In the client's own words, and by the way of all its requests: what it may not do now is refused. */
  #beginAgain({ texts, later }: ClientSetup): void {
    const first: SetupRequest = { method: 'initialize', params: texts?.initialize ?? '{}' };
    for (const [at, request] of [first, ...later].entries()) {
      const line = setupLine(`"holdfast-again-${at}"`, request);
      const { uri } = request;
      const answer = (_frame: Frame, code?: number) => {
        if (uri !== undefined && code === undefined) this.#tellOfChange(uri);
      };
      this.#session.receive(scanMessage(Buffer.from(line)), { send: ignored, answer });
    }
    // The servers may be others now.
    for (const method of afterSetup) this.send(notificationFrame(method), method);
  }

  /** There may be more than events that are kept for a client without a stream. */
  #tellOfChange(uri: string): void {
    if (this.#isClosed) return;
    if (this.#listening?.some(({ isOpen }) => isOpen)) return this.send(changeOf(uri));
    this.#untold ??= new Set();
    this.#untold.add(uri);
  }

  receive(message: Message, reply: Reply | undefined): Underway | undefined {
    return this.#session.receive(message, reply);
  }

  // --- replies -----------------------------------------------------------------------------

  /** A response to a POST becomes a stream. */
  postTrack(res: ServerResponse): Track {
    const track = this.#newTrack('post');
    this.#connect(track, res);
    if (this.isPrimed) track.prime(this.#edge.limits.retryMs);
    return track;
  }

  /** Nothing more will be sent on it; what was sent can still be resumed. */
  finish(track: Track): void {
    this.#tracks?.delete(track.name);
    track.end();
    if (this.#successor === undefined) return;
    const events = this.#events?.takeBut(new Set(this.#tracks?.keys())) ?? [];
    if (events.length > 0) this.#successor(events);
  }

  /** The client has cancelled what was answered there: it is not resumed. */
  abandon(track: Track): void {
    this.#events?.forget(track.name);
    this.#abandoned ??= new Set();
    this.#abandoned.add(track.name);
    if (this.#abandoned.size > maxAbandoned) {
      for (const oldest of this.#abandoned) {
        this.#abandoned.delete(oldest);
        break;
      }
    }
    this.finish(track);
  }

  // --- listening ---------------------------------------------------------------------------

  /** What belongs to no request; `kind` as in `Reply`. */
  send(frame: Frame, kind?: string): void {
    if (this.#isClosed) return;
    const track = this.#listening?.findLast(({ isOpen }) => isOpen);
    const successor = this.#successor;
    if (track === undefined && successor) successor([{ stream: undefined, place: 0, frame, kind }]);
    else if (track === undefined) this.#keptEvents.wait(frame, kind);
    else track.say(frame, kind);
  }

  /** The client listens on a new stream, and gets what has waited for one. */
  listen(res: ServerResponse): void {
    this.#listenOn(this.#newTrack('listen'), res);
  }

  /** The client comes back after this event. */
  resume(res: ServerResponse, lastEventId: string): StreamReturn {
    const seen = placeOf(lastEventId);
    if (seen === undefined) return 'unknown';
    if (seen.life !== this.#life) {
      if (seen.kind === 'post') return 'unknown';
      this.listen(res);
      return 'resumed';
    }
    const missed = this.#keptEvents.after(seen.track, seen.place);
    const track = this.#tracks?.get(seen.track);
    if (seen.kind === 'listen') {
      this.#listenOn(track ?? this.#newTrack('listen'), res, missed);
      return 'resumed';
    }
    if (this.#abandoned?.has(seen.track)) return 'over';
    if (track === undefined && !this.#keptEvents.has(seen.track)) return 'unknown';
    if (track === undefined && missed.length === 0) return 'over';
    const stream = this.#connect(track, res);
    this.#repeat(stream, missed);
    if (track === undefined) stream.end();
    return 'resumed';
  }

  stopListening(): void {
    for (const track of [...(this.#listening ?? [])]) track.end();
  }

  // --- ending ------------------------------------------------------------------------------

  /** Memory is short: nothing that was sent can be resumed. */
  forget(): void {
    this.#events?.clear();
  }

  /** The access of its principal has ended: what it waits for is answered with an error. */
  endAccess(): void {
    this.#session.endAccess?.();
    this.close();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Running requests end with it, and each reply is notified.
    this.#session.close();
    this.opening?.sessionEnded();
    this.opening = undefined;
    for (const track of [...(this.#tracks?.values() ?? [])]) track.end();
    this.#tracks?.clear();
    this.#untold = undefined;
    this.forget();
  }

  // --- parts -------------------------------------------------------------------------------

  get #keptEvents(): KeptEvents {
    this.#events ??= new KeptEvents(this.#edge.limits, this.#table.budget);
    return this.#events;
  }

  #newTrack(kind: TrackKind): Track {
    this.#tracksMade += 1;
    const track = new Track(trackName(kind, this.#tracksMade), this.#keptEvents, this.#life);
    this.#tracks ??= new Map();
    this.#tracks.set(track.name, track);
    return track;
  }

  /** A connection for a track, or only for what is left of one. */
  #connect(track: Track | undefined, res: ServerResponse): EventStream {
    const stream = new EventStream(res, this.#edge, [], (gone) => {
      track?.detach(gone);
      if (gone.isSpent) track?.spent?.();
    });
    track?.attach(stream);
    return stream;
  }

  #listenOn(track: Track, res: ServerResponse, missed: readonly KeptEvent[] = []): void {
    this.#listening ??= [];
    const listening = this.#listening;
    if (!listening.includes(track)) listening.push(track);
    const stream = new EventStream(res, this.#edge, [], (gone) => this.#deafened(track, gone));
    track.attach(stream);
    this.#repeat(stream, missed);
    if (this.isPrimed) track.prime(this.#edge.limits.retryMs);
    for (const frame of this.#keptEvents.takeWaiting()) track.say(frame);
    const untold = this.#untold ?? [];
    this.#untold = undefined;
    for (const uri of untold) track.say(changeOf(uri));
    if (listening.length > this.#edge.limits.streamsPerSession) listening[0]?.end();
  }

  /** A stream that was listened on has ended: the client may come back, but on a new track. */
  #deafened(track: Track, stream: EventStream): void {
    track.detach(stream);
    if (track.isOpen) return;
    this.#tracks?.delete(track.name);
    const at = this.#listening?.indexOf(track) ?? -1;
    if (at >= 0) this.#listening?.splice(at, 1);
    this.#table.used(this);
    // What was held for its client waits for the next one.
    for (const [kind, frame] of stream.held) this.send(frame, kind);
  }

  /** Events that were sent before, with their original ids. */
  #repeat(stream: EventStream, missed: readonly KeptEvent[]): void {
    for (const { stream: name = '', place, frame } of missed) {
      stream.repeat(frame, eventId(name, place, this.#life));
    }
  }
}

/** The same wherever the session goes on; its id is a credential of sorts. */
function keyOf(id: string): string {
  return `session-${hash('sha256', `key of ${id}`, 'hex').slice(0, 32)}`;
}
