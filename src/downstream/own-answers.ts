// Requests that the gateway answers itself, without a server: observers are notified of them as of
// any other request, and a fault becomes the answer.

import type { ObservedCall } from '../host/call/call-observer.ts';
import type { HostForGateway } from '../host/gateway-face.ts';
import type { Clock } from '../kernel/clock.ts';
import { Fault, faultFrom } from '../kernel/fault.ts';
import type { Incoming } from './incoming.ts';
import { faultError, faultResult } from './refusals.ts';
import type { AskedOperation } from './relay/relay.ts';

export class OwnAnswers {
  readonly #host: Pick<HostForGateway, 'observers'>;
  readonly #clock: Clock;
  readonly #caught: (error: unknown) => void;

  constructor(
    host: Pick<HostForGateway, 'observers'>,
    clock: Clock,
    caught: (error: unknown) => void,
  ) {
    this.#host = host;
    this.#clock = clock;
    this.#caught = caught;
  }

  /** A tool call that met a fault before it was known whose tool it is. */
  failToolCall(incoming: Incoming, fault: Fault): void {
    this.refused(incoming, { method: 'tools/call', kind: 'tool', name: null }, fault);
    incoming.result(faultResult(fault, incoming));
  }

  /** A request that goes to nobody. */
  refused(incoming: Incoming, operation: AskedOperation, fault: Fault): void {
    const { observers } = this.#host;
    const told = this.#told(incoming, operation);
    observers.began(told);
    observers.ended(told, fault.code, fault);
  }

  /** What the gateway answers by itself, as observers see it. */
  #told({ principal }: Incoming, operation: AskedOperation): ObservedCall {
    const request = { principal, server: null, operation };
    return { request, startedAt: this.#clock.now(), attempts: 0, replays: 0, generation: null };
  }

  /** Counts what the gateway answers by itself; a fault becomes the answer. */
  count(
    incoming: Incoming,
    about: Partial<AskedOperation>,
    work: () => void | Promise<void>,
  ): void {
    const { observers } = this.#host;
    const method = incoming.message.method ?? '';
    const told = this.#told(incoming, { method, kind: 'other', name: null, ...about });
    observers.began(told);
    const end = () => {
      const { refusal } = incoming;
      if (refusal === undefined) return observers.ended(told, 'ok', undefined);
      const fault = new Fault('invalid_request', refusal.message);
      observers.ended(told, fault.code, fault);
    };
    const fail = (thrown: unknown) => {
      if (!(thrown instanceof Fault)) this.#caught(thrown);
      const fault = faultFrom(thrown);
      observers.ended(told, fault.code, fault);
      incoming.error(faultError(fault, incoming.principal));
    };
    try {
      const working = work();
      if (working instanceof Promise)
        working
          .then(end)
          .catch(fail)
          .catch((e) => this.#caught(e));
      else end();
    } catch (thrown) {
      fail(thrown);
    }
  }
}
