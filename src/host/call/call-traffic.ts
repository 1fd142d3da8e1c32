// Counts every request in one place (observe/traffic.ts), by tool or else by method. The keys of
// tools are computed once and looked up by server and tool, so a call allocates no string. What others than the
// local user do is counted once more, for each of them.

import type { Clock } from '../../kernel/clock.ts';
import type { Fault } from '../../kernel/fault.ts';
import { operationKey, otherOperations, type Traffic } from '../../observe/traffic.ts';
import type { TrafficByPrincipal } from '../../observe/traffic-by-principal.ts';
import { methodAccess } from '../../policy/method-access.ts';
import { localUser } from '../../policy/principal.ts';
import type { CallObserver, CallOutcome, CallStage, ObservedCall } from './call-observer.ts';

/** Beyond that keys are created for each call; Traffic counts them together then. */
const maxKeys = 1_000;

export class CallTraffic implements CallObserver {
  readonly #clock: Clock;
  readonly #traffic: Traffic;
  /** By server and tool; at most `maxKeys` in all. */
  readonly #keys = new Map<string, Map<string, string>>();
  #keyCount = 0;

  readonly #own: TrafficByPrincipal;

  constructor(clock: Clock, traffic: Traffic, own: TrafficByPrincipal) {
    this.#clock = clock;
    this.#traffic = traffic;
    this.#own = own;
  }

  /** Where it is counted. */
  #counted({ request: { principal } }: ObservedCall): readonly Traffic[] {
    return principal === localUser ? [this.#traffic] : [this.#traffic, this.#own.of(principal.id)];
  }

  began(call: ObservedCall): void {
    for (const traffic of this.#counted(call)) traffic.began();
  }

  stage(call: ObservedCall, stage: CallStage): void {
    if (stage !== 'replayed') return;
    const key = this.#keyOf(call);
    for (const traffic of this.#counted(call)) traffic.retried(key);
  }

  ended(call: ObservedCall, outcome: CallOutcome, fault: Fault | undefined): void {
    const { request, startedAt, generation } = call;
    const key = this.#keyOf(call);
    const latencyMs = this.#clock.now() - startedAt;
    const by = request.server === null ? 'gateway' : 'server';
    const end = outcome === 'is_error' ? outcome : 'ok';
    for (const traffic of this.#counted(call)) {
      if (fault) traffic.failed(key, fault, latencyMs, by);
      else traffic.ended(key, end, latencyMs, by, generation);
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
