// Requests that wait for an asynchronous authenticator. Meanwhile nothing of such a request is read
// or served: its body waits in its connection. The number of waiting requests and their time are
// bounded; a client that disconnects meanwhile gets no service, and nothing of its request is kept.
// Its place is released when the authenticator has answered or its time is over, so that the work
// that clients can cause there is bounded whether they wait for it or not.

import type { ServerResponse } from 'node:http';
import { RareLine } from '../../../kernel/rare-line.ts';
import type { Edge } from '../http-context.ts';
import type { Authentication } from './authenticator.ts';

/** Receives the answer, or that there is none; neither if the client has disconnected. */
export interface AuthenticationListener {
  answered(found: Authentication): void;
  failed(error: unknown): void;
}

export class PendingAuthentications {
  readonly #edge: Edge;
  #count = 0;
  readonly #full: RareLine;

  constructor(edge: Edge) {
    this.#edge = edge;
    this.#full = new RareLine(edge.clock, edge.report);
  }

  /** Whether all places are taken. */
  get isFull(): boolean {
    const { authentications } = this.#edge.limits;
    const isFull = this.#count >= authentications;
    if (isFull) {
      this.#full.say(
        () =>
          `http: ${authentications} requests wait for the authenticator; further ones are refused`,
      );
    }
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

/** In a scope of its own: a promise that never settles keeps alive what its listeners reference. */
function follow(answer: Promise<Authentication>, pending: Pending): void {
  answer.then((found) => pending.answered(found)).catch((error: unknown) => pending.failed(error));
}

/**
 * One waiting request; it releases the request as soon as it has ended, or the client has
 * disconnected.
 */
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

  /** The listener, if it has not been notified yet. */
  #end(): AuthenticationListener | undefined {
    this.#over?.();
    this.#over = undefined;
    this.deadline?.[Symbol.dispose]();
    // A response that waits behind another on its connection is not notified when the connection
    // closes.
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
