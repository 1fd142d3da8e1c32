// What `holdfast connect` does between an agent on its standard streams and the instance: carries every
// line unchanged, and remembers enough to continue with another instance when this one ends. Then the
// session is begun anew with the client's own words, requests that change nothing or have an idempotency
// key are sent again, and tool calls that may have run end in `outcome_unknown`. It does no input or
// output itself, and waits for nothing.

import { reservedServerName } from '../../config/server-name.ts';
import {
  afterSetup,
  ClientSetup,
  changeOf,
  type SetupRequest,
  setupLine,
} from '../../downstream/clients/client-setup.ts';
import { faultError, faultResult } from '../../downstream/refusals.ts';
import { idempotencyKeyOf } from '../../downstream/relay/parked-call.ts';
import { Fault } from '../../kernel/fault.ts';
import { localUser } from '../../policy/principal.ts';
import { scanBatch } from '../../wire/batch.ts';
import { textOf } from '../../wire/decode.ts';
import { batchVersion, envelopeKeys, rpcCodes } from '../../wire/eras.ts';
import {
  asLine,
  errorFrame,
  idText,
  joined,
  notificationFrame,
  resultFrame,
} from '../../wire/frames.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';

type Line = string | Buffer;

export interface BridgeParts {
  /** Without its line end. */
  readonly toClient: (line: Line) => void;
}

/** A request of the client that has no answer yet. */
interface Open {
  readonly message: Message;
  readonly line: Buffer;
  /** It was handed to an instance that is still there. */
  isSent: boolean;
  /** How many instances have had it. */
  sent: number;
}

/** What may wait for an instance; an agent has a few requests under way. */
const maxWaiting = 4_096;
const maxWaitingBytes = 67_108_864;
/** A request that each instance has ended with is not given to another one. */
const maxSent = 3;

export class Bridge {
  readonly #toClient: (line: Line) => void;
  /** By id as the client wrote it, until answered; at most `maxWaiting` while there is no instance. */
  readonly #open = new Map<string, Open>();
  /** The instance's own requests, by id, until answered; the instance allows only so many. */
  readonly #asked = new Set<string>();
  /** What the client has sent and no instance has; at most `maxWaiting`. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Undefined: there is no instance. */
  #send: ((line: Line) => void) | undefined;
  /** The instance knows the session. */
  #isReady = false;
  #greeting: Open | undefined;
  #isGreeted = false;
  /** The client's notification that it is initialized. */
  #initialized: Buffer | undefined;
  /** What every instance has to be told anew. */
  readonly #setup = new ClientSetup();
  /** Our own requests to the instance, by id, until answered; at most what the client has set up. */
  readonly #own = new Map<string, SetupRequest>();
  #ownId = 0;
  /** The instance, or the last one, keeps idempotency keys beyond its end. */
  #keepsKeys = false;

  constructor({ toClient }: BridgeParts) {
    this.#toClient = toClient;
  }

  /** Whether the client waits for something. */
  get isIdle(): boolean {
    // What listens has no end of its own.
    const isAwaited = ({ message }: Open) => message.method !== 'subscriptions/listen';
    return ![...this.#open.values()].some(isAwaited);
  }

  get isConnected(): boolean {
    return this.#send !== undefined;
  }

  // --- the client --------------------------------------------------------------------------

  fromClient(line: Buffer): void {
    const messages = messagesIn(line);
    // Without an agreement on batches one is refused as a whole.
    const isNoted = messages.length <= 1 || this.#hasBatches;
    if (isNoted) for (const message of messages) this.#noteFromClient(message);
    if (this.#isReady) this.#handOver(line);
    else this.#wait(line);
  }

  get #hasBatches(): boolean {
    const { bytes, paramsObject } = this.#greeting?.message ?? {};
    const version = paramsObject?.find('protocolVersion');
    return bytes !== undefined && version !== undefined && textOf(bytes, version) === batchVersion;
  }

  #noteFromClient(message: Message): void {
    if (message.kind === 'request') this.#noteRequest(message);
    else if (message.kind === 'notification') this.#noteNotification(message);
  }

  #noteRequest(message: Message): void {
    const open = { message, line: message.bytes, isSent: false, sent: 0 };
    this.#open.set(idText(message), open);
    if (message.method === 'initialize') this.#greeting = open;
    if (ClientSetup.concerns(message.method)) this.#setup.note(message);
  }

  #noteNotification(message: Message): void {
    const { method, bytes, paramsObject } = message;
    if (method === 'notifications/initialized') this.#initialized = bytes;
    if (method !== 'notifications/cancelled') return;
    const id = paramsObject?.find('requestId');
    if (id) this.#open.delete(bytes.toString('utf8', id.start, id.end));
  }

  /** To the instance, which is there and knows the session. */
  #handOver(line: Buffer): void {
    const messages = messagesIn(line);
    // The answer to a question of an instance that has ended.
    if (messages.length > 0 && messages.every((one) => this.#isLate(one))) return;
    for (const message of messages) {
      const open = this.#open.get(idText(message));
      if (message.kind === 'request' && open) {
        open.isSent = true;
        open.sent += 1;
      }
      if (isAnswer(message)) this.#asked.delete(idText(message));
    }
    this.#send?.(line);
  }

  #isLate(message: Message): boolean {
    return isAnswer(message) && !this.#asked.has(idText(message));
  }

  #wait(line: Buffer): void {
    const messages = messagesIn(line);
    if (messages.length > 0 && messages.every(isAnswer)) return;
    const isFull = this.#waiting.length >= maxWaiting;
    if (isFull || this.#waitingBytes + line.length > maxWaitingBytes) {
      const fault = new Fault('overloaded', 'too many requests wait for the instance');
      for (const message of messages) if (message.kind === 'request') this.#answer(message, fault);
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
  }

  // --- the instance ------------------------------------------------------------------------

  fromInstance(line: Buffer): void {
    const messages = messagesIn(line);
    if (messages.some((message) => this.#isOwnAnswer(message))) return;
    for (const message of messages) {
      if (message.kind === 'request') this.#asked.add(idText(message));
      else if (message.kind !== 'notification') {
        this.#answered(idText(message), message.kind === 'error');
      }
    }
    this.#toClient(line);
  }

  #answered(id: string, isError: boolean): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    if (open === this.#greeting && !isError) this.#isGreeted = true;
  }

  /** An instance is there: from now on everything goes to it. */
  joined(send: (line: Line) => void, keepsKeys: boolean): void {
    this.#send = send;
    this.#keepsKeys = keepsKeys;
    const { texts } = this.#setup;
    if (!this.#isGreeted || texts === undefined) return this.#ready();
    this.#ask({ method: 'initialize', params: texts.initialize });
  }

  /** Sends a request of the client again, in our own name. */
  #ask(request: SetupRequest): void {
    this.#ownId += 1;
    const id = `"holdfast-connect-${this.#ownId}"`;
    this.#own.set(id, request);
    this.#send?.(setupLine(id, request));
  }

  #isOwnAnswer(message: Message): boolean {
    const request = isAnswer(message) ? this.#own.get(idText(message)) : undefined;
    if (request === undefined) return false;
    this.#own.delete(idText(message));
    if (!this.#isReady) this.#begunAnew();
    const { uri } = request;
    if (uri !== undefined && message.kind === 'result') this.#toClient(joined(changeOf(uri)));
    return true;
  }

  /** The new instance has answered the client's greeting. */
  #begunAnew(): void {
    if (this.#initialized) this.#send?.(this.#initialized);
    this.#ready();
    for (const request of this.#setup.later) this.#ask(request);
    // Another instance may have other servers.
    for (const method of afterSetup) this.#tell(method);
  }

  #ready(): void {
    this.#isReady = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const line of waiting) {
      this.#refuseUnknownKeys(line);
      if (!this.#wasWithdrawn(line)) this.#handOver(line);
    }
  }

  /** A call that an earlier instance has had is not for one that does not know its key. */
  #refuseUnknownKeys(line: Buffer): void {
    if (this.#keepsKeys) return;
    for (const message of messagesIn(line)) {
      const sent = this.#open.get(idText(message))?.sent ?? 0;
      if (message.method === 'tools/call' && sent > 0) this.#answer(message, lostCall(message));
    }
  }

  /** Its requests were cancelled, or answered, while they waited. */
  #wasWithdrawn(line: Buffer): boolean {
    const requests = messagesIn(line).filter(({ kind }) => kind === 'request');
    return requests.length > 0 && requests.every((one) => !this.#open.has(idText(one)));
  }

  /** The instance has ended. */
  lost(): void {
    this.#send = undefined;
    this.#isReady = false;
    this.#own.clear();
    for (const id of this.#asked) this.#tell('notifications/cancelled', `{"requestId":${id}}`);
    this.#asked.clear();
    const again: Buffer[] = [];
    for (const open of this.#open.values()) {
      if (!open.isSent) continue;
      open.isSent = false;
      if (this.#mayBeSentAgain(open)) again.push(open.line);
      else this.#answer(open.message, lostCall(open.message));
    }
    this.#waiting = [...again, ...this.#waiting];
    this.#waitingBytes = this.#waiting.reduce((sum, line) => sum + line.length, 0);
  }

  #mayBeSentAgain({ message, sent }: Open): boolean {
    if (sent >= maxSent) return false;
    if (repeatable.has(message.method ?? '')) return true;
    // An instance that keeps keys knows which were used, also by the one before it.
    const isKeyed = typeof idempotencyKeyOf(message) === 'string';
    return message.method === 'tools/call' && isKeyed && this.#keepsKeys;
  }

  /** A line of the client that the instance would not take either. */
  tooLarge(maxBytes: number): void {
    const message = `Invalid request: a message may have at most ${maxBytes} bytes`;
    this.#toClient(joined(errorFrame('null', { code: rpcCodes.invalidRequest, message })));
  }

  /** No instance can be had: what waits is answered with this. */
  refuseWaiting(fault: Fault): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const { message, sent } of [...this.#open.values()]) {
      const mayHaveRun = sent > 0 && !repeatable.has(message.method ?? '');
      this.#answer(message, mayHaveRun ? lostCall(message) : fault);
    }
  }

  #answer(message: Message, unnamed: Fault): void {
    this.#open.delete(idText(message));
    // The window knows no server: what has failed is the instance.
    const fault = unnamed.with({ server: reservedServerName });
    const isCall = message.method === 'tools/call';
    const named = { isModern: isModern(message), principal: localUser };
    const frame = isCall
      ? resultFrame(idText(message), faultResult(fault, named))
      : errorFrame(idText(message), faultError(fault, localUser));
    this.#toClient(joined(frame));
  }

  #tell(method: string, params?: string): void {
    if (this.#isGreeted) this.#toClient(joined(notificationFrame(method, params)));
  }
}

/** With its line end, as the instance and the client read it. */
export function lineOf(line: Line): Line {
  return joined(asLine(typeof line === 'string' ? line : [line]));
}

/** One message, or those of a batch; none if it cannot be read: then it is passed on as it is. */
function messagesIn(line: Buffer): readonly Message[] {
  try {
    return [scanMessage(line)];
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return error.reason === 'batch' ? batchIn(line) : [];
  }
}

function batchIn(line: Buffer): readonly Message[] {
  try {
    return scanBatch(line).map((element) => scanMessage(element));
  } catch (error) {
    if (error instanceof WireError) return [];
    throw error;
  }
}

function isAnswer({ kind }: Message): boolean {
  return kind === 'result' || kind === 'error';
}

function isModern({ meta }: Message): boolean {
  return meta?.find(envelopeKeys.protocolVersion) !== undefined;
}

/** Methods that change nothing, or the same thing each time. */
const repeatable: ReadonlySet<string> = new Set([
  ...['initialize', 'ping', 'server/discover', 'subscriptions/listen'],
  ...['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'],
  ...['prompts/get', 'resources/read', 'completion/complete'],
  ...['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'],
]);

function lostCall({ method }: Message): Fault {
  const what = method === 'tools/call' ? 'the call' : `the request ${method}`;
  return new Fault(
    'outcome_unknown',
    `the Holdfast instance ended before it answered; ${what} may have run and was not repeated: check its effect before you send it again`,
    { dispatched: 'maybe' },
  );
}
