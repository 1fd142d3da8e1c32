// Counts every request in one place (observe/traffic.ts), by tool or else by method. The keys of
// tools are computed once and looked up by server and tool, so a call allocates no string.

import type { Clock } from '../../kernel/clock.ts';
import type { Fault } from '../../kernel/fault.ts';
import { operationKey, otherOperations, type Traffic } from '../../observe/traffic.ts';
import { methodAccess } from '../../policy/method-access.ts';
import type { CallObserver, CallOutcome, CallStage, ObservedCall } from './call-observer.ts';

/** Beyond that keys are created for each call; Traffic counts them together then. */
const maxKeys = 1_000;

export class CallTraffic implements CallObserver {
  readonly #clock: Clock;
  readonly #traffic: Traffic;
  /** By server and tool; at most `maxKeys` in all. */
  readonly #keys = new Map<string, Map<string, string>>();
  #keyCount = 0;

  constructor(clock: Clock, traffic: Traffic) {
    this.#clock = clock;
    this.#traffic = traffic;
  }

  began(): void {
    this.#traffic.began();
  }

  stage(call: ObservedCall, stage: CallStage): void {
    if (stage === 'replayed') this.#traffic.retried(this.#keyOf(call));
  }

  ended(call: ObservedCall, outcome: CallOutcome, fault: Fault | undefined): void {
    const { request, startedAt, generation } = call;
    const key = this.#keyOf(call);
    const latencyMs = this.#clock.now() - startedAt;
    const by = request.server === null ? 'gateway' : 'server';
    if (fault) this.#traffic.failed(key, fault, latencyMs, by);
    else {
      const end = outcome === 'is_error' ? outcome : 'ok';
      this.#traffic.ended(key, end, latencyMs, by, generation);
    }
  }

  #keyOf({ request: { server, operation } }: ObservedCall): string {
    const { kind, name, method } = operation;
    if (kind === 'tool' && name !== null) return this.#toolKey(server ?? 'holdfast', name, method);
    return methodAccess.has(method) ? method : otherOperations;
  }

  #toolKey(server: string, tool: string, method: string): string {
    const ofServer = this.#keys.get(server);
    const known = ofServer?.get(tool);
    if (known !== undefined) return known;
    const key = operationKey(method, server, tool);
    if (this.#keyCount >= maxKeys) return key;
    this.#keyCount += 1;
    if (ofServer) ofServer.set(tool, key);
    else this.#keys.set(server, new Map([[tool, key]]));
    return key;
  }
}
