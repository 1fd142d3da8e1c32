// Asks a modern client for the roots of one call, before the call is sent to a legacy server that
// asks for roots. Several programs with different folders may be one client (over HTTP a token says
// no more), and a modern client does not report that its folders have changed. So every call is
// asked, once, however often its server asks.

import { createHash } from 'node:crypto';
import type { CallRoots, ClientAnswer, Question } from '../../host/connections/caller.ts';
import { CancelSignal } from '../../kernel/cancel-signal.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { canonicalText } from '../../wire/canonical.ts';
import { objectAt } from '../../wire/parts.ts';
import { scanMessage } from '../../wire/scan.ts';
import type { Incoming } from '../incoming.ts';

/** How many calls of one client may wait for the answer; each of them is kept meanwhile. */
const maxWaiting = 64;
/** What the answer may have, because it is kept as long as the connection that was sent it: bytes. */
const maxAnswer = 262_144;

const question = scanMessage(Buffer.from('{"jsonrpc":"2.0","id":0,"method":"roots/list"}'));

export class CallRootsQuestions {
  readonly #ask: (question: Question) => Promise<ClientAnswer>;
  /** Of calls that are, or were, asked; each ends with its call. */
  readonly #open = new WeakMap<Incoming, Promise<void>>();
  #waiting = 0;

  constructor(ask: (question: Question) => Promise<ClientAnswer>) {
    this.#ask = ask;
  }

  /** Resolves when the call has its roots. Rejects with a Fault. */
  find(caller: Incoming, server: string): Promise<void> {
    const open = this.#open.get(caller) ?? this.#find(caller, server);
    this.#open.set(caller, open);
    return open;
  }

  async #find(caller: Incoming, server: string): Promise<void> {
    if (this.#waiting >= maxWaiting) throw tooManyFault(server);
    this.#waiting += 1;
    try {
      const withdrawn = new CancelSignal();
      const answer = await this.#ask({
        server,
        message: question,
        caller,
        withdrawn,
        tellServer: ignored,
      });
      caller.roots = rootsIn(answer, server);
    } finally {
      this.#waiting -= 1;
    }
  }
}

/** A client that refuses, or answers something else, has none. */
function rootsIn(answer: ClientAnswer, server: string): CallRoots {
  const bytes = typeof answer.json === 'string' ? Buffer.from(answer.json) : answer.json;
  if (bytes.length > maxAnswer) throw tooLongFault(server);
  const roots = objectAt(bytes, { start: 0, end: bytes.length })?.find('roots');
  const text = answer.kind === 'result' && roots ? canonicalText(bytes, roots) : null;
  if (text === null || !text.startsWith('[') || text === '[]') return noRoots;
  return { key: createHash('sha256').update(text).digest('base64url'), answer };
}

const noRoots: CallRoots = { key: '', answer: { kind: 'result', json: '{"roots":[]}' } };

function tooManyFault(server: string): Fault {
  const detail = `${maxWaiting} calls of this client wait for its answer to roots/list; answer them, or try again later`;
  return new Fault('overloaded', detail, { server });
}

function tooLongFault(server: string): Fault {
  const detail = `the client's answer to roots/list is longer than ${maxAnswer} bytes; have it list fewer roots`;
  return new Fault('invalid_request', detail, { server });
}
