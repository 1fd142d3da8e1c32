// The part of the JetStream API that a link uses: JSON requests on subjects of our own account. What the server
// answers is checked before it is believed: an older server takes an option that it does not know, and ignores it.

import { BrokerError } from '../broker-error.ts';
import type { StreamConfig } from './stream-config.ts';
import type { Wire } from './wire.ts';

type Members = Readonly<Record<string, unknown>>;

/** The numbers that NATS gives to its errors. */
const codes = {
  notEnabledForAccount: 10_039,
  notEnabled: 10_076,
  otherConfig: 10_058,
  consumerNotFound: 10_014,
  consumerNotUnique: 10_100,
} as const;

/** An answer that is an error. */
class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: number;

  constructor(code: number, words: string) {
    super(words);
    this.code = code;
  }
}

export interface ConsumerConfig {
  readonly name: string;
  readonly filter_subject: string;
  readonly ack_wait: number;
  readonly inactive_threshold: number;
}

export class JetStream {
  readonly #wire: Wire;
  readonly #url: string;

  constructor(wire: Wire, url: string) {
    this.#wire = wire;
    this.#url = url;
  }

  /** Rejects with a BrokerError if there is none for this account. */
  async assertEnabled(): Promise<void> {
    await this.#call('INFO').catch((error: unknown) => {
      const isOff =
        (error instanceof BrokerError && error.reason === 'absent') ||
        isCode(error, codes.notEnabled) ||
        isCode(error, codes.notEnabledForAccount);
      if (!isOff) throw this.#known(error);
      throw new BrokerError('unsupported', `JetStream is not enabled at ${this.#url}`);
    });
  }

  /** A stream that is there already keeps its limits. Rejects with a BrokerError. */
  async ensureStream(config: StreamConfig): Promise<void> {
    const { name, subjects, retention, discard } = config;
    const made = await this.#call(`STREAM.CREATE.${name}`, config)
      .catch((error: unknown) => {
        if (isCode(error, codes.otherConfig)) return this.#call(`STREAM.INFO.${name}`);
        throw error;
      })
      .catch((error: unknown) => {
        throw this.#known(error);
      });
    const found = membersOf(made['config']);
    const isOurs =
      found['retention'] === retention &&
      found['discard'] === discard &&
      JSON.stringify(found['subjects']) === JSON.stringify(subjects);
    if (isOurs) return;
    const words = `the stream ${name} at ${this.#url} is none of ours, or the server is too old`;
    throw new BrokerError('unsupported', words);
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

  /** When the server has stored this message, in milliseconds of its own clock. Rejects with a BrokerError. */
  async storedAt(stream: string, sequence: number): Promise<number> {
    try {
      const found = await this.#call(`STREAM.MSG.GET.${stream}`, { seq: sequence });
      return millisecondsIn(membersOf(found['message'])['time']);
    } catch (error) {
      throw this.#known(error);
    }
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

  async #call(verb: string, body?: object): Promise<Members> {
    const text = body === undefined ? '' : JSON.stringify(body);
    const message = await this.#wire.ask(`$JS.API.${verb}`, text);
    const answer = jsonIn(message.data);
    const error = errorIn(answer);
    if (error !== undefined) throw error;
    return answer;
  }

  #known(error: unknown): BrokerError {
    if (error instanceof BrokerError) return error;
    const words = error instanceof Error ? error.message : 'an unexpected answer';
    return new BrokerError('unsupported', `JetStream at ${this.#url} has refused: ${words}`);
  }
}

/** The error in an answer of the server, as its number and its words. */
export function errorIn(answer: Members): ApiError | undefined {
  const error = answer['error'];
  if (error === undefined) return undefined;
  const { err_code: code, description } = membersOf(error) as {
    readonly err_code?: unknown;
    readonly description?: unknown;
  };
  return new ApiError(typeof code === 'number' ? code : 0, String(description));
}

/** An empty object if it is none. */
export function jsonIn(bytes: Uint8Array): Members {
  try {
    return membersOf(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch {
    // It is no answer of a NATS server; it has none of the members that are looked for.
    return {};
  }
}

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {};
}

function isCode(error: unknown, code: number): boolean {
  return error instanceof ApiError && error.code === code;
}

/** A time with nanoseconds, as Go writes it. NaN if it is none. */
function millisecondsIn(time: unknown): number {
  const match = /^(.{19})(\.\d+)?Z$/.exec(String(time));
  if (match === null) return Number.NaN;
  // biome-ignore lint/style/noRestrictedGlobals: it reads a text, not a clock
  return Date.parse(`${match[1]}Z`) + Number(match[2] ?? 0) * 1_000;
}
