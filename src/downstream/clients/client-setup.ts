// What a legacy client has said that every session of it needs: its `initialize`, its log level and the
// resources it watches. With it a session is begun again in the client's own words, without the client:
// with another instance (connect), or after a restart of the gateway (HTTP).

import { textOf } from '../../wire/decode.ts';
import { type Frame, notificationFrame } from '../../wire/frames.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';

/** The parameters of its requests, as JSON text. */
export interface SetupTexts {
  readonly initialize: string;
  readonly level?: string;
  readonly subscriptions: readonly string[];
}

/** One request that begins a session again. */
export interface SetupRequest {
  readonly method: string;
  readonly params: string;
  /** The resource that it is about. The client cannot know what it has missed: it is told of a change. */
  readonly uri?: string;
}

/** As many resources as a session may watch. */
const maxSubscriptions = 1_000;
/** Of the parameters of one request, and of all subscriptions together: what is larger is not stored. */
const maxRequestBytes = 65_536;
const maxSubscriptionBytes = 262_144;

export class ClientSetup {
  #initialize: string | undefined;
  #level: string | undefined;
  /** By address, until unsubscribed; at most `maxSubscriptions`. */
  readonly #subscriptions = new Map<string, string>();

  /** Whether a request of this method is part of it. */
  static concerns(method: string | undefined): boolean {
    return method !== undefined && setupMethods.has(method);
  }

  /** Of what `texts` returned once; undefined if that cannot be. */
  static from(texts: SetupTexts): ClientSetup | undefined {
    const setup = new ClientSetup();
    setup.#initialize = texts.initialize;
    setup.#level = texts.level;
    for (const params of texts.subscriptions.slice(0, maxSubscriptions)) {
      const uri = uriIn(params);
      if (uri === undefined) return undefined;
      setup.#subscriptions.set(uri, params);
    }
    const first = { method: 'initialize', params: texts.initialize };
    return [first, ...setup.later].every(isMessage) ? setup : undefined;
  }

  /**
   * Why it cannot be stored with this request, too, in words for its client; undefined: it can. `asked` is what other
   * requests will add that are not answered yet.
   */
  refusal({ method, params, paramsObject, bytes }: Message, asked = 0): string | undefined {
    if (!ClientSetup.concerns(method) || params === undefined) return undefined;
    const size = params.end - params.start;
    if (size > maxRequestBytes) {
      return `the parameters of ${method} have ${size} bytes, and at most ${maxRequestBytes} are kept for a session`;
    }
    const span = paramsObject?.find('uri');
    const isKnown = this.#subscriptions.has((span && textOf(bytes, span)) ?? '');
    if (method !== subscribe || isKnown) return undefined;
    return this.#subscriptionBytes + asked + size <= maxSubscriptionBytes
      ? undefined
      : `the subscriptions of a session may have ${maxSubscriptionBytes} bytes together; end others first`;
  }

  /** The client has sent this request. */
  note({ method, bytes, params, paramsObject }: Message): void {
    const text = params ? bytes.toString('utf8', params.start, params.end) : '{}';
    const span = paramsObject?.find('uri');
    const uri = (span && textOf(bytes, span)) ?? '';
    if (method === 'initialize') this.#initialize = text;
    else if (method === 'logging/setLevel') this.#level = text;
    else if (method === 'resources/unsubscribe') this.#subscriptions.delete(uri);
    else if (method === 'resources/subscribe' && this.#subscriptions.size < maxSubscriptions) {
      this.#subscriptions.set(uri, text);
    }
  }

  /** Of everything that the client has said. */
  get bytes(): number {
    const [first, level] = [this.#initialize ?? '', this.#level ?? ''].map((text) =>
      Buffer.byteLength(text),
    );
    return (first ?? 0) + (level ?? 0) + this.#subscriptionBytes;
  }

  get #subscriptionBytes(): number {
    let sum = 0;
    for (const text of this.#subscriptions.values()) sum += Buffer.byteLength(text);
    return sum;
  }

  /** What begins a session again after `initialize`. */
  get later(): readonly SetupRequest[] {
    const level = this.#level === undefined ? [] : [{ method: setLevel, params: this.#level }];
    const watched = [...this.#subscriptions];
    return [...level, ...watched.map(([uri, params]) => ({ method: subscribe, params, uri }))];
  }

  /** Undefined before `initialize`. */
  get texts(): SetupTexts | undefined {
    if (this.#initialize === undefined) return undefined;
    const level = this.#level === undefined ? {} : { level: this.#level };
    const subscriptions = [...this.#subscriptions.values()];
    return { initialize: this.#initialize, ...level, subscriptions };
  }
}

/** A line that is sent in our own name; `id` is JSON text. */
export function setupLine(id: string, { method, params }: SetupRequest): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
}

/** What the client of a session that was begun again is told, besides changes of what it watches. */
export const afterSetup: readonly string[] = ['tools', 'prompts', 'resources'].map(
  (list) => `notifications/${list}/list_changed`,
);

/** For a resource that is watched again. */
export function changeOf(uri: string): Frame {
  return notificationFrame('notifications/resources/updated', JSON.stringify({ uri }));
}

const setLevel = 'logging/setLevel';
const subscribe = 'resources/subscribe';
const setupMethods: ReadonlySet<string> = new Set([
  ...['initialize', setLevel, subscribe, 'resources/unsubscribe'],
]);

/** Whether it can be sent. */
function isMessage(request: SetupRequest): boolean {
  try {
    return scanMessage(Buffer.from(setupLine('1', request))).kind === 'request';
  } catch (error) {
    if (error instanceof WireError) return false;
    throw error;
  }
}

function uriIn(params: string): string | undefined {
  try {
    const uri = (JSON.parse(params) as { uri?: unknown } | null)?.uri;
    return typeof uri === 'string' ? uri : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
