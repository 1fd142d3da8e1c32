// The call pipeline, stage by stage: authorize, charge the budget, answer from the cache, pass the
// gate, take a lease, dispatch, apply the replay rules after a fault, record the outcome. All
// interfaces use it, for every method; there is no other path to a server. The stages are files of
// their own and do not depend on each other; the pipeline awaits only a slot, a connection and the
// answer.

import { CancelSignal, type Signal } from '../../kernel/cancel-signal.ts';
import { Fault, faultFrom, faultTable } from '../../kernel/fault.ts';
import type { KeyedCaller } from '../../policy/idempotency.ts';
import { isOperatorOf, sharingOwnerOf } from '../../policy/principal.ts';
import type { Entrant } from '../../supervise/admission.ts';
import { booleanOf } from '../../wire/decode.ts';
import type { Message } from '../../wire/scan.ts';
import type { ConnectionSlot } from '../connections/connection-slot.ts';
import type { Server } from '../servers/server.ts';
import { type Answer, answerIn, answerOf, resultBytes } from './answer.ts';
import { Attempts, Displaced } from './attempts.ts';
import { type Cacheable, isForAll, keepResult, lookUp } from './cached-results.ts';
import {
  cancelledFault,
  lostTaskFault,
  namedFault,
  noResultFault,
  overAllAttempts,
  toolsShownTo,
  unknownTool,
} from './call-faults.ts';
import { callKey } from './call-key.ts';
import { longestMsOf } from './call-limits.ts';
import { Call, type CallParts, type CallRequest } from './call-parts.ts';
import { enteredSlot, gateOf, leaveSlot, nextSlot } from './call-slot.ts';
import {
  assertPaid,
  chargedOnce,
  countBytes,
  countedError,
  giveBackDenied,
  paidError,
  roomFor,
  waitedFor,
} from './charge.ts';
import { decide, decideAgain, decideOnAnswer, faultToTell } from './decision.ts';
import { callFingerprint } from './fingerprint.ts';
import { overAllRounds } from './later-round.ts';
import { isWaiting } from './operation.ts';
import { fetchShared } from './shared-fetch.ts';
import { isUnrun, saysUnrun } from './unrun-answer.ts';

/** The server's answer, as it came. Throws a Fault, and nothing else. */
export async function carryCall(parts: CallParts, request: CallRequest): Promise<Answer> {
  const call = new Call(request, parts.clock.now());
  const { observers, audit } = parts;
  observers.began(call);
  try {
    decide(parts, call);
    observers.stage(call, 'authorized');
    // Before anything could be sent, and before anything stored is given out.
    const written = audit?.begin(call);
    if (written !== undefined) {
      await written;
      decideAgain(parts, call);
    }
    let server = usableServer(parts, call);
    // A key that is null is refused, not replaced.
    if (call.key === undefined) call.key = callKey(server, request);
    const isKeyed = call.key !== undefined;
    while (!isKeyed) {
      const wait = roomFor(parts, call);
      if (wait === undefined) break;
      await waitedFor(call, wait);
      decideAgain(parts, call);
      server = usableServer(parts, call);
    }
    parts.budgets.charge();
    call.account?.count();
    call.isCharged = true;
    const answer = await (isKeyed
      ? onceByKey(parts, server, call, call.key)
      : cachedOrCarried(parts, server, call));
    const bytes = answer.result.end - answer.result.start;
    if (!isKeyed) decideOnAnswer(parts, call, 'no');
    call.chargedBytes = bytes;
    // Both, also if the first is exceeded: they have been received.
    let counted: Promise<void> | undefined;
    try {
      parts.budgets.chargeBytes(bytes);
    } finally {
      counted = isKeyed ? assertPaid(parts, call) : countBytes(parts, call, bytes);
    }
    if (counted !== undefined) await counted;
    decideOnAnswer(parts, call, isKeyed ? 'yes' : 'no');
    audit?.settled(call, call.answer, undefined);
    observers.ended(call, call.answer, undefined);
    return answer;
  } catch (failure) {
    const isKeyed = call.key !== undefined;
    const thrown = await (isKeyed ? paidError : countedError)(parts, call, failure);
    if (!(thrown instanceof Fault)) parts.defects.caught('a call', thrown, request.server);
    const failed = namedFault(faultToTell(parts, call, faultFrom(thrown)), call);
    giveBackDenied(parts, call, failed);
    const fault = overAllRounds(parts, request, failed);
    audit?.settled(call, fault.code, fault);
    observers.ended(call, fault.code, fault);
    throw fault;
  }
}

/** A name that leads nowhere: only an operator is told what there is instead, and why. */
function foundFor(parts: CallParts, { server, principal }: CallRequest): Server {
  try {
    return parts.find(server, principal);
  } catch (thrown) {
    const isHere = !(thrown instanceof Fault) || !absentCodes.has(thrown.code);
    if (isHere || isOperatorOf(principal, '')) throw thrown;
    throw new Fault('not_found', `there is no server '${server}'`, { server });
  }
}

const absentCodes: ReadonlySet<string> = new Set(['not_found', 'invalid_request']);

/** The server, if its caller may use it for this. */
function usableServer(parts: CallParts, call: Call): Server {
  const server = foundFor(parts, call.request);
  refuseHidden(parts, server, call);
  // Before a stored answer could be given to somebody who cannot use the server.
  const refusal = server.slots.refusalOf(call.request.caller);
  if (refusal) throw refusal;
  return server;
}

function refuseHidden({ access }: CallParts, server: Server, { request }: Call): void {
  const { kind, name } = request.operation;
  if (kind !== 'tool' || name === null || !server.toolConfig(name)?.hidden) return;
  const isShown = toolsShownTo(access, request.principal, server);
  throw unknownTool(server, name, server.catalogueFor(request.caller), isShown);
}

/** With a key the call belongs to all callers that use the key: no single caller can cancel it. */
function onceByKey(parts: CallParts, server: Server, call: Call, key: unknown): Promise<Answer> {
  const { principal, signal } = call.request;
  const run = (callOff: Signal) =>
    chargedOnce(parts, call, () =>
      carry(parts, server, call, callOff, undefined).then(resultBytes),
    );
  const caller: KeyedCaller = {
    signal,
    hasLeft: () => call.hasLeft,
    isUnrun: () => call.isUnrun,
    withinMs: longestMsOf(server, call.request),
    isAgain: call.request.callId?.isAgain,
  };
  const { caller: by, callId } = call.request;
  const folder = by && server.slots.aimOf(by).folder;
  const fingerprint = callFingerprint(call.request, folder);
  // A key that the client has given is kept for longer than its call id.
  const isClients = call.request.idempotencyKey !== undefined;
  const keptMs = isClients ? undefined : callId?.knownMs;
  const byKey = (by: KeyedCaller) => parts.keys.run(principal, key, fingerprint, run, by, keptMs);
  const id = isClients ? callKey(server, call.request) : undefined;
  if (id === undefined) return byKey(caller).then(answerOf);
  // Its call id is claimed as well: it is the same call, whichever key it comes with.
  const claimed = (callOff: Signal) => byKey({ ...caller, signal: untilSent(call, callOff) });
  return parts.keys
    .run(principal, id, fingerprint, claimed, caller, callId?.knownMs)
    .then(answerOf);
}

/** Fires with the other, unless the call was sent by then: its answer is kept. */
function untilSent(call: Call, callOff: Signal): Signal {
  const signal = new CancelSignal();
  const end = () => {
    if (!call.hasLeft) signal.abort(callOff.reason);
  };
  if (callOff.aborted) end();
  else callOff.addEventListener('abort', end, { once: true });
  return signal;
}

function cachedOrCarried(parts: CallParts, server: Server, call: Call): Promise<Answer> {
  const { signal } = call.request;
  const cacheable = lookUp(parts.cache, server, call.request);
  if (cacheable === undefined) return carry(parts, server, call, signal, undefined);
  if (cacheable.hit !== undefined) return Promise.resolve(answerOf(cacheable.hit));
  let isOwn = false;
  const leaving = new CancelSignal();
  const leave = () => leaving.abort(signal?.reason);
  if (signal?.aborted) leave();
  else signal?.addEventListener('abort', leave);
  const launch = (flight: AbortSignal) => {
    isOwn = true;
    const fetch = () => carry(parts, server, call, flight, cacheable).then(resultBytes);
    return fetchShared(parts, server, cacheable, fetch, flight);
  };
  // Another call's answer may be for its client only: that is known only when it arrives.
  const isShared = () => isOwn || isForAll(server, call.request, cacheable);
  // What was asked before an invalidation is the answer to nobody who asks after it.
  const shared = `${cacheable.mark} ${cacheable.key.own}`;
  // It is known earlier if the client of that call is asked for something: it is not waited for.
  const listening = server.slots.changes.on(() => isShared() || leave());
  return parts.flights
    .join(shared, launch, leaving)
    .finally(() => {
      listening[Symbol.dispose]();
      signal?.removeEventListener('abort', leave);
    })
    .then(
      (result) => (isShared() ? answerOf(result) : cachedOrCarried(parts, server, call)),
      (thrown) => {
        if (isShared() || signal?.aborted) throw thrown;
        return cachedOrCarried(parts, server, call);
      },
    );
}

/**
 * Through the gate and the queue, under a lease, to an answer. `moved`: it has lost its slot
 * before.
 */
async function carry(
  parts: CallParts,
  server: Server,
  call: Call,
  signal: Signal | undefined,
  cacheable: Cacheable | undefined,
  moved?: Attempts,
): Promise<Answer> {
  const waiting = moved === undefined ? signal : moved.waiting();
  if (waiting?.aborted) throw cancelledFault(server.name);
  const { admission } = server;
  const { caller, task, operation } = call.request;
  if (task?.isLost) throw lostTaskFault(task);
  if (caller?.client.findRoots && call.request.slot === undefined && server.wantsRoots(caller)) {
    const found = caller.client.findRoots(caller, server.name);
    await (moved ? moved.whileAsked(found) : found);
  }
  const { request } = call;
  const slot =
    enteredSlot(server, request) ?? (await nextSlot(parts.clock, server, request, waiting));
  const { breaker, leases } = slot.supervisor;
  const pass = gateOf(server, slot, request);
  const isWait = isWaiting(operation.method);
  const entrant = entrantOf(call);
  // However it ends, it says nothing about how calls go.
  if (isWait) breaker.withdrawn(pass);
  let isInside = false;
  let attempts: Attempts | undefined;
  try {
    isInside = isWait || admission.tryEnter(entrant) || (await admission.enter(entrant, waiting));
    parts.observers.stage(call, 'admitted');
    leases.hold();
    moved?.moveTo(slot);
    attempts = moved ?? new Attempts(parts, server, slot, call);
    const message = await attempts.answer(signal);
    if (!isWait) breaker.succeeded(pass);
    if (message.result === undefined) throw noResultFault(server.name);
    const answer = answerIn(message, message.result);
    if (cacheable && isForAll(server, call.request, cacheable)) {
      keepResult(parts.cache, cacheable, message, resultBytes(answer));
    }
    call.answer = isErrorResult(message) ? 'is_error' : 'ok';
    // An earlier attempt may have run.
    call.isUnrun = call.key !== undefined && call.attempts === 1 && saysUnrun(message);
    return answer;
  } catch (thrown) {
    // A Displaced call says nothing about its server, and goes on below.
    const standing = standingAfter(slot, call, thrown);
    if (!isWait) {
      if (standing === 'alive') breaker.succeeded(pass);
      else if (standing === 'failing') breaker.failed(pass);
      else breaker.withdrawn(pass);
    }
    const data = thrown instanceof Fault ? thrown.record.rpc?.data : undefined;
    call.isUnrun = call.attempts === 1 && isUnrun(data);
    if (!(thrown instanceof Displaced) || attempts === undefined) {
      throw thrownOn(server, call, thrown, isWait);
    }
  } finally {
    leaveSlot(server, slot, request);
    if (isInside) {
      leases.release();
      if (!isWait) admission.leave(entrant);
      if (slot.isDuplicate || slot.isSpent) server.slots.settle(slot);
      parts.pool.settle();
    }
  }
  return await carryMoved(parts, server, call, signal, cacheable, attempts);
}

/**
 * Its slot was assigned to another client: it continues on another slot, as the same call with the
 * same deadline.
 */
async function carryMoved(
  parts: CallParts,
  server: Server,
  call: Call,
  signal: Signal | undefined,
  cacheable: Cacheable | undefined,
  attempts: Attempts,
): Promise<Answer> {
  try {
    return await carry(parts, server, call, signal, cacheable, attempts);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    // Refused before it was sent again, or cancelled in the queue: it may have run before.
    const isUnsent = thrown.dispatched === 'no';
    const fault = (isUnsent && attempts.interruptedBy) || thrown;
    throw overAllAttempts(namedFault(fault, call), call);
  } finally {
    attempts.end();
  }
}

function thrownOn(server: Server, call: Call, thrown: unknown, isWait: boolean): unknown {
  if (!(thrown instanceof Fault)) return thrown;
  return namedFault(isWait ? thrown : server.redactor.fault(thrown), call);
}

/** Whose turn and share of a server's slots it uses. */
function entrantOf({ request }: Call): Entrant {
  const { caller, principal } = request;
  // Another session is not another turn or share, except for the programs of the local user.
  const owner = sharingOwnerOf(principal);
  return { client: owner ?? caller?.client.key ?? principal.id, owner };
}

/** What the end of a call means for its server. */
function standingAfter(
  slot: ConnectionSlot,
  call: Call,
  thrown: unknown,
): 'alive' | 'failing' | 'unchanged' {
  if (!(thrown instanceof Fault)) return 'unchanged';
  if (thrown.code === 'rpc_error') return 'alive';
  // A failed start and a lost connection have been counted already, once for all calls they
  // affected.
  const isCounted = slot.supervisor.connection?.generation !== call.generation;
  return faultTable[thrown.code].trips && !isCounted ? 'failing' : 'unchanged';
}

function isErrorResult(message: Message): boolean {
  const span = message.resultObject?.get('isError');
  return span !== undefined && booleanOf(message.bytes, span) === true;
}
