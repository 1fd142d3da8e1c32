// One stream of the store: it is made when it is first used, and looked at again with every new connection. A stream
// that is another one than before, or that ends before what was acknowledged, has lost something: this is remembered
// and reported. What is asked of a stream that was made anew meanwhile is asked again of the new one.

import { apiCodes, errorIn, isCode, jsonIn, membersOf } from '../../nats/jet-stream-api.ts';
import { NatsError } from '../../nats/nats-error.ts';
import { StoreError } from '../store-error.ts';
import type { Session } from './session.ts';
import { messageIn, type StoredMessage } from './stored-message.ts';
import { refusedChange, refusedReading } from './stream-errors.ts';
import { ensuredStream, findStream } from './stream-finding.ts';
import {
  incarnationIn,
  olderStreamName,
  type StreamSpec,
  streamName,
  subjectOf,
} from './stream-names.ts';
import { type PastChange, StreamPast } from './stream-past.ts';
import { readPage, type StreamPage, type WantedPage } from './stream-reader.ts';

export interface KeptStreamParts {
  readonly spec: StreamSpec;
  /** Rejects with a NatsError if there is no connection. */
  readonly session: () => Promise<Session>;
  /** Something that was acknowledged is gone: what has happened to it, for people. */
  readonly lost: (stream: string, what: string) => void;
  /** It is there again. */
  readonly restored: (stream: string) => void;
  /** The random part that this stream had when it was first used on this machine, or has now. */
  readonly remembered: (stream: string, incarnation: string) => Promise<string>;
}

/** A stream as it is in one session. */
export interface OpenStream {
  readonly session: Session;
  readonly name: string;
  readonly incarnation: string;
  /** Whether the server removes messages by itself when their time is over. */
  readonly hasTtl: boolean;
}

export interface Publication {
  readonly token: string;
  readonly body: Uint8Array | string;
  readonly headers?: ReadonlyMap<string, string>;
  /** The sequence of the message that is replaced; 0: there is none. Undefined: it does not matter. */
  readonly expected?: number | undefined;
}

/** Which message it is: numbers begin anew with a stream that is made anew. */
export type InStream = Pick<StoredMessage, 'sequence' | 'incarnation'>;

export interface StreamState {
  readonly messages: number;
  readonly first: number;
  readonly last: number;
}

export class KeptStream {
  readonly #parts: KeptStreamParts;
  #name: string;
  #opening: { readonly session: Session; readonly stream: Promise<OpenStream> } | undefined;
  readonly #past = new StreamPast();

  constructor(parts: KeptStreamParts) {
    this.#parts = parts;
    this.#name = streamName(parts.spec);
  }

  /** On the server, as far as it is known. */
  get name(): string {
    return this.#name;
  }

  /** Whether nothing is known to be lost. Rejects with a StoreError if the server cannot be asked. */
  async isWhole(): Promise<boolean> {
    await this.#reading(async (open) => this.#state(open));
    return this.#past.isWhole;
  }

  /** Rejects with a StoreError. */
  async open(): Promise<OpenStream> {
    return await this.#reading(async (open) => open);
  }

  /** Whether it has been made. Rejects with a StoreError. */
  async isThere(): Promise<boolean> {
    const { spec, session } = this.#parts;
    try {
      return (await findStream((await session()).api, spec)) !== undefined;
    } catch (error) {
      throw refusedReading(spec.name, error);
    }
  }

  /** The sequence of the new message; undefined if another than the expected one is there. */
  async publish({ token, body, headers, expected }: Publication): Promise<number | undefined> {
    try {
      return await this.#again(async ({ session: { wire }, incarnation }) => {
        const all = wire.client.headers();
        for (const [name, value] of headers ?? []) all.set(name, value);
        if (expected !== undefined) all.set(expectation, String(expected));
        const subject = subjectOf(this.#parts.spec, incarnation, token);
        const answer = jsonIn((await wire.ask(subject, body, { headers: all })).data);
        const error = errorIn(answer);
        if (error?.code === apiCodes.wrongSequence) return undefined;
        if (error !== undefined) throw error;
        const { seq } = answer;
        if (typeof seq === 'number') {
          this.#past.acknowledged(incarnation, seq);
          return seq;
        }
        throw new NatsError('timeout', 'what answered was not the stream');
      });
    } catch (error) {
      if (isCode(error, apiCodes.storeFailed)) await this.#assertRoom();
      throw refusedChange(this.#parts.spec.name, error);
    }
  }

  /** The server has one number for a stream that is full and for a disk that refuses. */
  async #assertRoom(): Promise<void> {
    const { maxMessages, name } = this.#parts.spec;
    const { messages } = await this.state();
    if (maxMessages < 0 || messages < maxMessages) return;
    throw new StoreError('full', `there is no room in ${name}: it has ${messages} entries`);
  }

  /** The message with this token; undefined: there is none. Rejects with a StoreError. */
  last(token: string): Promise<StoredMessage | undefined> {
    return this.#reading(async (open) => {
      const subject = subjectOf(this.#parts.spec, open.incarnation, token);
      const get = { last_by_subj: subject };
      try {
        return messageIn(await open.session.api.call(`STREAM.MSG.GET.${open.name}`, get));
      } catch (error) {
        if (!isCode(error, apiCodes.messageNotFound)) throw error;
        // The stream of this name may be another one by now, in which nothing has this subject.
        await this.#state(open);
        return undefined;
      }
    });
  }

  /** Rejects with a StoreError. */
  state(): Promise<StreamState> {
    return this.#reading((open) => this.#state(open));
  }

  /** One page of messages, oldest first. Rejects with a StoreError. */
  page(wanted: WantedPage): Promise<StreamPage> {
    return this.#reading(async (open) => {
      const page = await readPage(open.session, open.name, wanted);
      if (page.messages.length === 0) await this.#state(open);
      return page;
    });
  }

  /**
   * Removes these messages so that they never come back, whenever the server is killed; nothing happens to those that
   * are gone, or were in a stream of this name before. Rejects with a StoreError.
   */
  async erase(messages: readonly InStream[]): Promise<void> {
    for (let at = 0; at < messages.length; at += eraseAtOnce) {
      const some = messages.slice(at, at + eraseAtOnce);
      await this.#changing(async (open) => {
        // What was read long ago may be of a stream that was made anew since: its numbers are those of other messages.
        if (messages.length > 1) await this.#state(open);
        for (const { sequence, incarnation } of some) {
          if (incarnation === open.incarnation) await eraseOne(open, sequence);
        }
      });
    }
  }

  /** Removes all with smaller numbers. Rejects with a StoreError. */
  async purgeBefore(sequence: number): Promise<void> {
    await this.#changing(async ({ session: { api }, name }) => {
      await api.call(`STREAM.PURGE.${name}`, { seq: sequence });
    });
  }

  async #changing<T>(work: (open: OpenStream) => Promise<T>): Promise<T> {
    try {
      return await this.#again(work);
    } catch (error) {
      throw refusedChange(this.#parts.spec.name, error);
    }
  }

  async #reading<T>(work: (open: OpenStream) => Promise<T>): Promise<T> {
    try {
      return await this.#again(work);
    } catch (error) {
      throw refusedReading(this.#parts.spec.name, error);
    }
  }

  /** Once more if the stream is another one, or gone: then nothing has happened. */
  async #again<T>(work: (open: OpenStream) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#open());
    } catch (error) {
      const isGone =
        isCode(error, apiCodes.streamNotFound) ||
        (error instanceof NatsError && error.reason === 'absent');
      if (!isGone) throw error;
      this.#opening = undefined;
      return await work(await this.#open());
    }
  }

  async #open(): Promise<OpenStream> {
    const session = await this.#parts.session();
    if (this.#opening?.session !== session) {
      const stream = this.#ensure(session).catch((error: unknown) => {
        this.#opening = undefined;
        throw error;
      });
      this.#opening = { session, stream };
    }
    return await this.#opening.stream;
  }

  async #ensure(session: Session): Promise<OpenStream> {
    const { spec, remembered } = this.#parts;
    const { api } = session;
    const past = this.#past;
    let found = await ensuredStream(api, spec, past.kept);
    // Of what may be forgotten nothing is missed.
    if (!spec.isForgetful) {
      // By the older name: what was remembered before still counts.
      past.kept ??= await remembered(olderStreamName(spec), found.incarnation);
      if (past.kept !== found.incarnation) found = await ensuredStream(api, spec, past.kept);
      this.#told(past.found(found.incarnation, found.last), found.name);
    }
    const { name, incarnation, hasTtl } = found;
    this.#name = name;
    return { session, name, incarnation, hasTtl };
  }

  #told(change: PastChange | undefined, name: string): void {
    if (change === undefined) return;
    if (change === 'restored') return this.#parts.restored(name);
    const what =
      change === 'other' ? 'was deleted and made anew' : 'has lost what it had acknowledged';
    this.#parts.lost(name, what);
  }

  /** Also notices that the stream is another one than the one that was opened. */
  async #state({ session, name, incarnation }: OpenStream): Promise<StreamState> {
    const found = await session.api.call(`STREAM.INFO.${name}`);
    const now = incarnationIn(this.#parts.spec, membersOf(found['config'])['subjects']);
    if (now !== incarnation) {
      throw new NatsError('absent', `the stream ${name} was made anew`);
    }
    const { messages, first_seq: first, last_seq: last } = membersOf(found['state']);
    const next = Number(last) + 1;
    const isEmpty = Number(messages) === 0;
    return {
      messages: Number(messages),
      first: isEmpty ? next : Number(first),
      last: Number(last),
    };
  }
}

async function eraseOne({ session, name }: OpenStream, sequence: number): Promise<void> {
  const request = { seq: sequence, no_erase: session.writesDeletes };
  await session.api.call(`STREAM.MSG.DELETE.${name}`, request).catch((error: unknown) => {
    if (!isCode(error, apiCodes.sequenceNotFound)) throw error;
  });
}

/** Before the next it is looked whether the stream is still the same. */
const eraseAtOnce = 128;
const expectation = 'Nats-Expected-Last-Subject-Sequence';
