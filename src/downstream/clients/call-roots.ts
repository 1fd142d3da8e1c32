// Asks a modern client for the roots of one call, before the call is sent to a legacy server that
// keeps roots, or when the server asks in the call. Several programs with different folders may be
// one client (over HTTP a token says no more), and a modern client does not report that its folders
// have changed. So the client is asked for every call, once, however often the server asks.

import { createHash } from 'node:crypto';
import type { CallRoots, ClientAnswer, Question } from '../../host/connections/caller.ts';
import { CancelSignal } from '../../kernel/cancel-signal.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { canonicalText } from '../../wire/canonical.ts';
import { objectAt } from '../../wire/parts.ts';
import { scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';
import type { Incoming } from '../incoming.ts';
import type { RootsRoom } from './roots-room.ts';

/** Longest answer, in bytes: it is kept as long as the connection that was sent it. */
const maxAnswer = 262_144;

const question = scanMessage(Buffer.from('{"jsonrpc":"2.0","id":0,"method":"roots/list"}'));

export class CallRootsQuestions {
  readonly #room: RootsRoom;
  readonly #ask: (question: Question) => Promise<ClientAnswer>;
  /** Of calls that are, or were, asked; each ends with its call. */
  readonly #open = new WeakMap<Incoming, Promise<void>>();

  constructor(room: RootsRoom, ask: (question: Question) => Promise<ClientAnswer>) {
    this.#room = room;
    this.#ask = ask;
  }

  /** Resolves when the call has its roots. Rejects with a Fault. */
  find(caller: Incoming, server: string): Promise<void> {
    const open = this.#open.get(caller) ?? this.#find(caller, server);
    this.#open.set(caller, open);
    return open;
  }

  async #find(caller: Incoming, server: string): Promise<void> {
    let giveUp: (fault: Fault) => void = ignored;
    const givenUp = new Promise<never>((_resolve, reject) => {
      giveUp = (fault) => reject(fault.with({ server }));
    });
    const { client, message } = caller;
    using _waiting = this.#room.enter({ client, bytes: message.bytes.length, server, giveUp });
    const withdrawn = new CancelSignal();
    const asked = { server, message: question, caller, withdrawn, tellServer: ignored };
    const answer = await Promise.race([this.#ask(asked), givenUp]);
    if (caller.cancelSignal.aborted) throw leftFault(server);
    caller.roots = rootsIn(answer, server);
  }
}

/** A client that refuses, or answers something else, has none. */
function rootsIn(answer: ClientAnswer, server: string): CallRoots {
  const bytes = typeof answer.json === 'string' ? Buffer.from(answer.json) : answer.json;
  if (bytes.length > maxAnswer) throw tooLongFault(server);
  const text = answer.kind === 'result' ? listedText(bytes, server) : null;
  if (text === null || !text.startsWith('[') || text === '[]') return noRoots;
  return { key: createHash('sha256').update(text).digest('base64url'), answer };
}

/** What it lists, written in one way; null if that is not possible. */
function listedText(bytes: Buffer, server: string): string | null {
  try {
    const roots = objectAt(bytes, { start: 0, end: bytes.length })?.find('roots');
    return roots ? canonicalText(bytes, roots) : null;
  } catch (thrown) {
    if (!(thrown instanceof WireError)) throw thrown;
    const detail = `the client's answer to roots/list is not valid: ${thrown.message}`;
    throw new Fault('invalid_request', detail, { server }, thrown);
  }
}

const noRoots: CallRoots = { key: '', answer: { kind: 'result', json: '{"roots":[]}' } };

/** Others may wait for the same call. */
function leftFault(server: string): Fault {
  const detail =
    'the request that began this call left while it was asked for roots; send the call again';
  return new Fault('unavailable', detail, { server });
}

function tooLongFault(server: string): Fault {
  const detail = `the client's answer to roots/list is longer than ${maxAnswer} bytes; have it list fewer roots`;
  return new Fault('invalid_request', detail, { server });
}
