// Requests whose principal is not known yet, because the authenticator answers later. Nothing of such
// a request is read, invited or served meanwhile: its body waits in its connection. Only so many wait
// at a time, each only for so long; a client that goes away meanwhile is served nothing, and nothing
// of its request is kept. Its place is given back when the authenticator has answered or its time is
// over, so that the work that clients can cause there is bounded whether they wait for it or not.

import type { ServerResponse } from 'node:http';
import type { Edge } from '../http-context.ts';
import type { Authentication } from './authenticator.ts';

/** Who is told of the answer, or that there is none; neither if the client is gone. */
export interface AuthenticationListener {
  answered(found: Authentication): void;
  failed(error: unknown): void;
}

export class PendingAuthentications {
  readonly #edge: Edge;
  #count = 0;
  #isReported = false;

  constructor(edge: Edge) {
    this.#edge = edge;
  }

  /** Are all places taken? Told to the operator once, until one request has found room again. */
  get isFull(): boolean {
    const { limits, report } = this.#edge;
    const isFull = this.#count >= limits.authentications;
    if (isFull && !this.#isReported) {
      report(
        `http: ${limits.authentications} requests wait for the authenticator; further ones are refused`,
      );
    }
    this.#isReported = isFull;
    return isFull;
  }

  wait(
    answer: Promise<Authentication>,
    res: ServerResponse,
    listener: AuthenticationListener,
  ): void {
    this.#count += 1;
    const pending = new Pending(res, listener, () => {
      this.#count -= 1;
    });
    const { deadlines, limits } = this.#edge;
    pending.deadline = deadlines.after(limits.authenticationMs, () => {
      pending.failed(
        new Error(`the authenticator has not answered within ${limits.authenticationMs} ms`),
      );
    });
    follow(answer, pending);
  }
}

/** In a scope of its own: a promise that never settles keeps what its listeners can reach. */
function follow(answer: Promise<Authentication>, pending: Pending): void {
  answer.then((found) => pending.answered(found)).catch((error: unknown) => pending.failed(error));
}

/** One request that waits; it lets go of the request as soon as it is over, or the client gone. */
class Pending implements AuthenticationListener {
  deadline: Disposable | undefined;
  #res: ServerResponse | undefined;
  #listener: AuthenticationListener | undefined;
  #over: (() => void) | undefined;
  readonly #gone = () => this.#letGo();

  constructor(res: ServerResponse, listener: AuthenticationListener, over: () => void) {
    this.#res = res;
    this.#listener = listener;
    this.#over = over;
    res.on('close', this.#gone);
  }

  answered(found: Authentication): void {
    this.#end()?.answered(found);
  }

  failed(error: unknown): void {
    this.#end()?.failed(error);
  }

  /** The listener, if it is still to be told. */
  #end(): AuthenticationListener | undefined {
    this.#over?.();
    this.#over = undefined;
    this.deadline?.[Symbol.dispose]();
    // A response that waits behind another on its connection does not hear that this is closed.
    const isGone = this.#res?.req.socket.destroyed ?? true;
    const listener = this.#listener;
    this.#letGo();
    return isGone ? undefined : listener;
  }

  #letGo(): void {
    this.#res?.off('close', this.#gone);
    this.#res = undefined;
    this.#listener = undefined;
  }
}
