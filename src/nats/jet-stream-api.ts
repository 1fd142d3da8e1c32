// The API of JetStream: JSON requests on subjects of our own account. What an answer says is taken from it member by
// member, because a server is trusted with our data and not with our types.

import type { Refused } from './nats-error.ts';
import type { Wire } from './wire.ts';

export type Members = Readonly<Record<string, unknown>>;

/** The numbers that NATS gives to its errors. */
export const apiCodes = {
  notEnabledForAccount: 10_039,
  notEnabled: 10_076,
  otherConfig: 10_058,
  /** Its subjects are those of another stream, or of one that is being made at the same time. */
  overlapping: 10_065,
  consumerNotFound: 10_014,
  consumerNotUnique: 10_100,
  streamNotFound: 10_059,
  messageNotFound: 10_037,
  sequenceNotFound: 10_043,
  wrongSequence: 10_071,
  messageTooLarge: 10_054,
  /** A bound of the stream is reached, or the disk has refused. */
  storeFailed: 10_077,
} as const;

/** There is no room: of the stream, by messages or bytes; of the account or the server. */
const fullCodes: ReadonlySet<number> = new Set([10_077, 10_023, 10_028, 10_047]);

/** An answer that is an error. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: number;

  constructor(code: number, words: string) {
    super(words);
    this.code = code;
  }

  get isFull(): boolean {
    return fullCodes.has(this.code);
  }
}

export class JetStreamApi<E extends Refused> {
  readonly #wire: Wire<E>;
  readonly #url: string;

  /** `url` is what people may see of the address. */
  constructor(wire: Wire<E>, url: string) {
    this.#wire = wire;
    this.#url = url;
  }

  /** Rejects with an ApiError, or with what the wire makes. */
  async call(verb: string, body?: object): Promise<Members> {
    const text = body === undefined ? '' : JSON.stringify(body);
    const message = await this.#wire.ask(`$JS.API.${verb}`, text);
    const answer = jsonIn(message.data);
    const error = errorIn(answer);
    if (error !== undefined) throw error;
    return answer;
  }

  /** Rejects with `unsupported` if there is none for this account. */
  async assertEnabled(): Promise<void> {
    await this.call('INFO').catch((error: unknown) => {
      const isOff =
        (error as Partial<Refused> | undefined)?.reason === 'absent' ||
        isCode(error, apiCodes.notEnabled) ||
        isCode(error, apiCodes.notEnabledForAccount);
      if (!isOff) throw this.known(error);
      throw this.#wire.refuse('unsupported', `JetStream is not enabled at ${this.#url}`);
    });
  }

  /** When the server has stored this message, in milliseconds of its own clock; NaN if it does not say so. */
  async storedAt(stream: string, sequence: number): Promise<number> {
    const found = await this.call(`STREAM.MSG.GET.${stream}`, { seq: sequence });
    return millisecondsIn(membersOf(found['message'])['time']);
  }

  /** An error of the API that nobody expects, as one of the wire. */
  known(error: unknown): unknown {
    if (!(error instanceof ApiError)) return error;
    const words = `JetStream at ${this.#url} has refused: ${error.message}`;
    return this.#wire.refuse('unsupported', words);
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

export function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {};
}

export function isCode(error: unknown, code: number): boolean {
  return error instanceof ApiError && error.code === code;
}

/** A time with nanoseconds, as Go writes it. NaN if it is none. */
function millisecondsIn(time: unknown): number {
  const match = /^(.{19})(\.\d+)?Z$/.exec(String(time));
  if (match === null) return Number.NaN;
  // biome-ignore lint/style/noRestrictedGlobals: it reads a text, not a clock
  return Date.parse(`${match[1]}Z`) + Number(match[2] ?? 0) * 1_000;
}
