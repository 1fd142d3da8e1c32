// One stream of the store: it is made when it is first used, and looked at again with every new connection. A stream
// that is another one than before, or that ends before what was acknowledged, has lost something: this is remembered
// and reported. What is asked of a stream that was made anew meanwhile is asked again of the new one.

import { apiCodes, errorIn, isCode, jsonIn, membersOf } from '../../nats/jet-stream-api.ts';
import { NatsError } from '../../nats/nats-error.ts';
import { StoreError } from '../store-error.ts';
import type { Session } from './session.ts';
import { messageIn, type StoredMessage } from './stored-message.ts';
import { refusedChange, refusedReading } from './stream-errors.ts';
import {
  incarnationIn,
  newIncarnation,
  perSubject,
  type StreamSpec,
  streamConfig,
  streamName,
  subjectOf,
} from './stream-names.ts';
import { readPage, type StreamPage, type WantedPage } from './stream-reader.ts';

export interface KeptStreamParts {
  readonly spec: StreamSpec;
  /** Rejects with a NatsError if there is no connection. */
  readonly session: () => Promise<Session>;
  /** Something that was acknowledged is gone: what has happened to it, for people. */
  readonly lost: (stream: string, what: string) => void;
  /** The random part that this stream had when it was first used on this machine, or has now. */
  readonly remembered: (stream: string, incarnation: string) => Promise<string>;
}

/** A stream as it is in one session. */
export interface OpenStream {
  readonly session: Session;
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

export interface StreamState {
  readonly messages: number;
  readonly first: number;
  readonly last: number;
}

export class KeptStream {
  readonly #parts: KeptStreamParts;
  readonly name: string;
  #opening: { readonly session: Session; readonly stream: Promise<OpenStream> } | undefined;
  #incarnation: string | undefined;
  /** The highest sequence that was acknowledged to us. */
  #acknowledged = 0;
  #isWhole = true;

  constructor(parts: KeptStreamParts) {
    this.#parts = parts;
    this.name = streamName(parts.spec);
  }

  /** Whether nothing is known to be lost. Rejects with a StoreError if the server cannot be asked. */
  async isWhole(): Promise<boolean> {
    await this.#reading(async (open) => this.#state(open));
    return this.#isWhole;
  }

  /** Rejects with a StoreError. */
  async open(): Promise<OpenStream> {
    return await this.#reading(async (open) => open);
  }

  /** Whether it has been made. Rejects with a StoreError. */
  async isThere(): Promise<boolean> {
    try {
      const { api } = await this.#parts.session();
      await api.call(`STREAM.INFO.${this.name}`);
      return true;
    } catch (error) {
      if (isCode(error, apiCodes.streamNotFound)) return false;
      throw refusedReading(this.#parts.spec.name, error);
    }
  }

  /** The sequence of the new message; undefined if another than the expected one is there. */
  async publish({ token, body, headers, expected }: Publication): Promise<number | undefined> {
    try {
      const sent = await this.#again(async ({ session: { wire }, incarnation }) => {
        const all = wire.client.headers();
        for (const [name, value] of headers ?? []) all.set(name, value);
        if (expected !== undefined) all.set(expectation, String(expected));
        const subject = subjectOf(this.#parts.spec, incarnation, token);
        const answer = jsonIn((await wire.ask(subject, body, { headers: all })).data);
        const error = errorIn(answer);
        if (error?.code === apiCodes.wrongSequence) return undefined;
        if (error !== undefined) throw error;
        if (typeof answer['seq'] === 'number') return answer['seq'];
        throw new NatsError('timeout', 'what answered was not the stream');
      });
      this.#acknowledged = Math.max(this.#acknowledged, sent ?? 0);
      return sent;
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
        return messageIn(await open.session.api.call(`STREAM.MSG.GET.${this.name}`, get));
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
    return this.#reading(async ({ session, incarnation }) => {
      const page = await readPage(session, this.name, wanted);
      if (page.messages.length === 0) await this.#state({ session, incarnation });
      return page;
    });
  }

  /** Removes one message so that it never comes back, whenever the server is killed; nothing happens if it is gone. Rejects with a StoreError. */
  async erase(sequence: number): Promise<void> {
    await this.#changing(async ({ session: { api, writesDeletes } }) => {
      const request = { seq: sequence, no_erase: writesDeletes };
      await api.call(`STREAM.MSG.DELETE.${this.name}`, request).catch((error: unknown) => {
        if (!isCode(error, apiCodes.sequenceNotFound)) throw error;
      });
    });
  }

  /** Removes all with smaller numbers. Rejects with a StoreError. */
  async purgeBefore(sequence: number): Promise<void> {
    await this.#changing(async ({ session: { api } }) => {
      await api.call(`STREAM.PURGE.${this.name}`, { seq: sequence });
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
    const { spec } = this.#parts;
    const { api } = session;
    const info = () => api.call(`STREAM.INFO.${this.name}`);
    const create = () =>
      api.call(`STREAM.CREATE.${this.name}`, streamConfig(spec, newIncarnation()));
    const found = await info()
      .catch((error: unknown) => {
        if (isCode(error, apiCodes.streamNotFound)) return create();
        throw error;
      })
      .catch((error: unknown) => {
        // Another process has made it in this moment.
        if (isCode(error, apiCodes.otherConfig)) return info();
        throw error;
      });
    const config = membersOf(found['config']);
    const incarnation = incarnationIn(spec, config['subjects']);
    const isOurs =
      incarnation !== undefined &&
      config['retention'] === 'limits' &&
      config['max_msgs_per_subject'] === perSubject(spec);
    if (!isOurs) {
      const told = `the stream ${this.name} on the NATS server is none of ours: delete it there, or use another namespace in the address`;
      throw new NatsError('unsupported', told);
    }
    // Of what may be forgotten nothing is missed.
    if (!spec.isForgetful) {
      this.#incarnation ??= await this.#parts.remembered(this.name, incarnation);
    }
    this.#compare(incarnation, Number(membersOf(found['state'])['last_seq']));
    return { session, incarnation, hasTtl: config['allow_msg_ttl'] === true };
  }

  #compare(incarnation: string, last: number): void {
    const isOther = this.#incarnation !== undefined && this.#incarnation !== incarnation;
    const isShort = !isOther && last < this.#acknowledged;
    this.#incarnation = incarnation;
    if (!isOther && !isShort) return;
    this.#acknowledged = last;
    if (this.#parts.spec.isForgetful) return;
    this.#isWhole = false;
    const what = isOther ? 'was deleted and made anew' : 'has lost what it had acknowledged';
    this.#parts.lost(this.name, what);
  }

  /** Also notices that the stream is another one than the one that was opened. */
  async #state({ session, incarnation }: Omit<OpenStream, 'hasTtl'>): Promise<StreamState> {
    const found = await session.api.call(`STREAM.INFO.${this.name}`);
    const now = incarnationIn(this.#parts.spec, membersOf(found['config'])['subjects']);
    if (now !== incarnation) {
      throw new NatsError('absent', `the stream ${this.name} was made anew`);
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

const expectation = 'Nats-Expected-Last-Subject-Sequence';
