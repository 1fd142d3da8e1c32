// The part of the JetStream API that a link uses: JSON requests on subjects of our own account. What the server
// answers is checked before it is believed: an older server takes an option that it does not know, and ignores it.

import {
  apiCodes as codes,
  isCode,
  JetStreamApi,
  type Members,
  membersOf,
} from '../../nats/jet-stream-api.ts';
import { BrokerError } from '../broker-error.ts';
import type { BrokerWire } from './broker-wire.ts';
import type { StreamConfig } from './stream-config.ts';

export interface ConsumerConfig {
  readonly name: string;
  readonly filter_subject: string;
  readonly ack_wait: number;
  readonly inactive_threshold: number;
}

export class JetStream {
  readonly api: JetStreamApi<BrokerError>;
  readonly #url: string;

  constructor(wire: BrokerWire, url: string) {
    this.api = new JetStreamApi(wire, url);
    this.#url = url;
  }

  /**
   * A stream that is there already keeps its limits, but its letters are kept no longer than we say: what nobody can
   * read any more would take the room of others. Rejects with a BrokerError.
   */
  async ensureStream(config: StreamConfig): Promise<void> {
    const { retention, discard, subjects } = config;
    const found = await this.#created(config).catch((error: unknown) => {
      throw this.#known(error);
    });
    this.#assertSame(config, 'retention', found['retention'], retention);
    this.#assertSame(config, 'discard', found['discard'], discard);
    this.#assertSame(config, 'subjects', found['subjects'], subjects);
    if (!isWithin(found['max_age'], config.max_age)) throw this.#tooOld(config);
  }

  /** The config of the stream as the server has it then. Rejects with an ApiError. */
  async #created(config: StreamConfig): Promise<Members> {
    const { name, max_age } = config;
    const made = await this.#call(`STREAM.CREATE.${name}`, config).catch((error: unknown) => {
      if (isCode(error, codes.otherConfig)) return this.#call(`STREAM.INFO.${name}`);
      throw error;
    });
    const found = membersOf(made['config']);
    if (isWithin(found['max_age'], max_age)) return found;
    const shortened = { ...found, max_age, duplicate_window: config.duplicate_window };
    return membersOf((await this.#call(`STREAM.UPDATE.${name}`, shortened))['config']);
  }

  /** Its config, and how many letters are in it. Rejects with a BrokerError. */
  async streamInfo(name: string): Promise<{ readonly config: Members; readonly letters: number }> {
    const found = await this.#call(`STREAM.INFO.${name}`).catch((error: unknown) => {
      throw this.#known(error);
    });
    const letters = membersOf(found['state'])['messages'];
    return {
      config: membersOf(found['config']),
      letters: typeof letters === 'number' ? letters : 0,
    };
  }

  /** Rejects with a BrokerError. */
  async updateStream(name: string, config: Members): Promise<void> {
    await this.#call(`STREAM.UPDATE.${name}`, config).catch((error: unknown) => {
      throw this.#known(error);
    });
  }

  /** Throws a BrokerError that says what is another. */
  #assertSame({ name }: StreamConfig, what: string, found: unknown, wanted: unknown): void {
    const [has, should] = [JSON.stringify(found), JSON.stringify(wanted)];
    if (has === should) return;
    const words = `the stream ${name} at ${this.#url} was not made by this Holdfast: its ${what} is ${has} and not ${should}; look at what is in it (nats stream info ${name}), and delete it (nats stream rm ${name}) or use another NATS server`;
    throw new BrokerError('unsupported', words);
  }

  #tooOld({ name }: StreamConfig): BrokerError {
    const words = `the server at ${this.#url} does not limit how long the stream ${name} keeps its letters: use nats-server 2.9 or newer`;
    return new BrokerError('unsupported', words);
  }

  /** Rejects with a BrokerError. */
  async streamNames(): Promise<readonly string[]> {
    return this.#names('STREAM.NAMES', 'streams');
  }

  /** Rejects with a BrokerError. */
  async consumerNames(stream: string): Promise<readonly string[]> {
    return this.#names(`CONSUMER.NAMES.${stream}`, 'consumers');
  }

  /** False if another has the same filter. Rejects with a BrokerError. */
  async createConsumer(stream: string, config: ConsumerConfig): Promise<boolean> {
    const { name, filter_subject: filter } = config;
    const full = {
      ...config,
      ack_policy: 'explicit',
      deliver_policy: 'all',
      replay_policy: 'instant',
      max_deliver: -1,
      max_ack_pending: -1,
      // What is not acknowledged is in the stream; who has it need not survive the server.
      mem_storage: true,
    };
    try {
      const made = await this.#call(`CONSUMER.CREATE.${stream}.${name}.${filter}`, {
        stream_name: stream,
        config: full,
      });
      if (membersOf(made['config'])['filter_subject'] !== filter) {
        throw new BrokerError(
          'unsupported',
          `the server at ${this.#url} is too old: use 2.9 or newer`,
        );
      }
      return true;
    } catch (error) {
      if (isCode(error, codes.consumerNotUnique)) return false;
      throw this.#known(error);
    }
  }

  /** Rejects with a BrokerError. */
  async hasConsumer(stream: string, name: string): Promise<boolean> {
    try {
      await this.#call(`CONSUMER.INFO.${stream}.${name}`);
      return true;
    } catch (error) {
      if (isCode(error, codes.consumerNotFound)) return false;
      throw this.#known(error);
    }
  }

  /** Nothing happens if it is gone. Rejects with a BrokerError. */
  async deleteConsumer(stream: string, name: string): Promise<void> {
    await this.#call(`CONSUMER.DELETE.${stream}.${name}`).catch((error: unknown) => {
      if (!isCode(error, codes.consumerNotFound)) throw this.#known(error);
    });
  }

  async #names(verb: string, key: 'streams' | 'consumers'): Promise<readonly string[]> {
    const names: string[] = [];
    for (;;) {
      const page = await this.#call(verb, { offset: names.length }).catch((error: unknown) => {
        throw this.#known(error);
      });
      const found = page[key];
      const more = Array.isArray(found) ? found.filter((one) => typeof one === 'string') : [];
      for (const name of more) names.push(name);
      const total = page['total'];
      if (more.length === 0 || typeof total !== 'number' || names.length >= total) return names;
    }
  }

  #call(verb: string, body?: object): Promise<Members> {
    return this.api.call(verb, body);
  }

  #known(error: unknown): unknown {
    return this.api.known(error);
  }
}

/** Nanoseconds; 0: for ever. */
function isWithin(maxAge: unknown, wanted: number): boolean {
  return typeof maxAge === 'number' && maxAge > 0 && maxAge <= wanted;
}
