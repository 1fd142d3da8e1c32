// One resumable stream of a legacy session, which may use several connections: when one breaks, the
// client reconnects with the id of the last event it saw. The id of an event is the stream's name,
// the event's number and the life of the session in this process, so it says which stream to resume and
// after which event; an id of an earlier process is recognised as such.

import type { Frame } from '../../../wire/frames.ts';
import type { EventStream } from './event-response.ts';
import type { KeptEvents } from './kept-events.ts';

/** `post`: the answer to a POST. `listen`: what belongs to no request. */
export type TrackKind = 'post' | 'listen';

export class Track {
  readonly name: string;
  /** Its client has used up its share of waiting data: no more is sent for its requests. */
  spent: (() => void) | undefined;
  readonly #events: KeptEvents;
  readonly #life: string;
  #stream: EventStream | undefined;
  #place = 0;

  constructor(name: string, events: KeptEvents, life: string) {
    this.name = name;
    this.#events = events;
    this.#life = life;
  }

  get isOpen(): boolean {
    return this.#stream?.isOpen === true;
  }

  /** From now on events go here. A connection that was there before is of no use to anybody. */
  attach(stream: EventStream): void {
    const former = this.#stream;
    this.#stream = stream;
    stream.released = (frame) => this.say(frame);
    former?.end();
  }

  detach(stream: EventStream): void {
    if (this.#stream === stream) this.#stream = undefined;
  }

  /** Gives the client an id to reconnect with, before there is an event that has one. */
  prime(retryMs: number): void {
    const id = eventId(this.name, this.#place, this.#life);
    this.#stream?.raw(`id: ${id}\nretry: ${retryMs}\ndata: \n\n`);
  }

  /** `kind` as in `Reply`. */
  say(frame: Frame, kind?: string): void {
    if (this.#stream?.holds(kind, frame)) return;
    this.#place += 1;
    this.#events.keep(this.name, this.#place, frame);
    this.#stream?.message(frame, eventId(this.name, this.#place, this.#life));
  }

  end(): void {
    this.#stream?.end();
  }
}

export interface EventPlace {
  readonly kind: TrackKind;
  readonly track: string;
  readonly place: number;
  readonly life: string;
}

export function trackName(kind: TrackKind, number: number): string {
  return `${kind === 'post' ? 'p' : 'g'}${number}`;
}

export function eventId(track: string, place: number, life: string): string {
  return `${track}-${place}-${life}`;
}

/** What an event id says; undefined if it is none of ours. */
export function placeOf(id: string): EventPlace | undefined {
  const [, letter, number, place, life] =
    /^([pg])(\d{1,15})-(\d{1,15})-([0-9a-f]{8})$/.exec(id) ?? [];
  if (letter === undefined || life === undefined) return undefined;
  return {
    kind: letter === 'p' ? 'post' : 'listen',
    track: `${letter}${number}`,
    place: Number(place),
    life,
  };
}
