// The life of a call, told in one place: authorize, charge the budget, answer from the cache, pass
// the gate, take a lease, dispatch, on a fault apply the replay law, remember. Every face goes
// through here; there is no second way to a server. The stages are files of their own and know
// nothing of each other; only waiting for a place, for a connection and for the answer awaits.

import { Fault, faultFrom, faultTable } from '../kernel/fault.ts';
import { authorize } from '../policy/guard.ts';
import { booleanOf } from '../wire/decode.ts';
import type { Message } from '../wire/scan.ts';
import { Attempts } from './attempts.ts';
import { type Cacheable, keepResult, lookUp } from './cached-results.ts';
import { cancelledFault, namedFault, noResultFault, unknownTool } from './call-faults.ts';
import { Call, type CallParts, type CallRequest } from './call-parts.ts';
import { fingerprintOf } from './fingerprint.ts';
import type { Server } from './server.ts';

/** The result's bytes, as the server wrote them. Throws a Fault, and nothing else. */
export async function callTool(parts: CallParts, request: CallRequest): Promise<Buffer> {
  const call = new Call(request, parts.clock.now());
  try {
    authorize(parts.guard, request.principal, request.server, request.tool, 'call');
    const server = parts.find(request.server);
    if (server.toolConfig(request.tool)?.hidden) throw unknownTool(server, request.tool);
    parts.budgets.charge();
    const result = await (request.idempotencyKey === undefined
      ? cachedOrCarried(parts, server, call)
      : onceByKey(parts, server, call, request.idempotencyKey));
    parts.budgets.chargeBytes(result.length);
    parts.tally.answer(call);
    return result;
  } catch (thrown) {
    const fault = namedFault(faultFrom(thrown), call);
    parts.tally.fault(call, fault);
    throw fault;
  }
}

/** With a key the call belongs to everyone who uses the key: no single caller can cancel it. */
function onceByKey(parts: CallParts, server: Server, call: Call, key: string): Promise<Buffer> {
  const { principal } = call.request;
  const run = () => carry(parts, server, call, undefined, undefined);
  return parts.keys.run(principal, key, fingerprintOf(call.request), run).then(ownCopy);
}

function cachedOrCarried(parts: CallParts, server: Server, call: Call): Promise<Buffer> {
  const { signal } = call.request;
  const cacheable = lookUp(parts.cache, server, call.request);
  if (cacheable === undefined) return carry(parts, server, call, signal, undefined);
  if (cacheable.hit !== undefined) return Promise.resolve(ownCopy(cacheable.hit));
  const launch = (flight: AbortSignal) => carry(parts, server, call, flight, cacheable);
  return parts.flights.join(cacheable.key.own, launch, signal).then(ownCopy);
}

/** Through the gate and the queue, under a lease, to an answer. */
async function carry(
  parts: CallParts,
  server: Server,
  call: Call,
  signal: AbortSignal | undefined,
  cacheable: Cacheable | undefined,
): Promise<Buffer> {
  if (signal?.aborted) throw cancelledFault(server.name);
  const { supervisor, admission } = server;
  const { breaker, leases } = supervisor;
  const pass = supervisor.gate();
  let isInside = false;
  try {
    isInside = admission.tryEnter() || (await admission.enter(signal));
    leases.hold();
    const message = await new Attempts(parts, server, call).answer(signal);
    breaker.succeeded(pass);
    const result = resultOf(message, server);
    if (cacheable) keepResult(parts.cache, cacheable, message, result);
    call.answer = isErrorResult(message) ? 'is_error' : 'ok';
    return result;
  } catch (thrown) {
    const standing = standingAfter(server, call, thrown);
    if (standing === 'alive') breaker.succeeded(pass);
    else if (standing === 'failing') breaker.failed(pass);
    else breaker.withdrawn(pass);
    throw thrown;
  } finally {
    if (isInside) {
      leases.release();
      admission.leave();
      parts.pool.settle();
    }
  }
}

/** What the end of a call says about its server. */
function standingAfter(
  server: Server,
  call: Call,
  thrown: unknown,
): 'alive' | 'failing' | 'unchanged' {
  if (!(thrown instanceof Fault)) return 'unchanged';
  if (thrown.code === 'rpc_error') return 'alive';
  // A failed start and a lost connection have been counted already, once for all who met them.
  const isCounted = server.supervisor.connection?.generation !== call.generation;
  return faultTable[thrown.code].trips && !isCounted ? 'failing' : 'unchanged';
}

/** What several callers share, none of them may be able to change for the others. */
function ownCopy(result: Buffer): Buffer {
  return Buffer.from(result);
}

function resultOf(message: Message, server: Server): Buffer {
  if (message.result === undefined) throw noResultFault(server.name);
  return message.bytes.subarray(message.result.start, message.result.end);
}

function isErrorResult(message: Message): boolean {
  const span = message.resultObject?.get('isError');
  return span !== undefined && booleanOf(message.bytes, span) === true;
}
