// The life of a call, told in one place: authorize, charge the budget, answer from the cache, pass
// the gate, take a lease, dispatch, on a fault apply the replay law, remember. Every face goes
// through here; there is no second way to a server. The stages are files of their own and know
// nothing of each other; only waiting for a place, for a connection and for the answer awaits.

import { Fault, faultFrom, faultTable } from '../kernel/fault.ts';
import { authorize } from '../policy/guard.ts';
import { sequelOf } from '../policy/replay.ts';
import type { Connection } from '../upstream/connection.ts';
import { booleanOf } from '../wire/decode.ts';
import type { Message } from '../wire/scan.ts';
import { type Cacheable, keepResult, lookUp } from './cached-results.ts';
import {
  cancelledFault,
  namedFault,
  noResultFault,
  rpcFault,
  timeoutFault,
  unknownOutcome,
  unknownTool,
} from './call-faults.ts';
import { Call, type CallParts, type CallRequest } from './call-parts.ts';
import { contractOf, type OfferedTool } from './catalogue.ts';
import { fingerprintOf } from './fingerprint.ts';
import { Interruption } from './interruption.ts';
import { Patience } from './patience.ts';
import type { Server } from './server.ts';
import { callOptions, callParams } from './tool-request.ts';

/** The result's bytes, as the server wrote them. Throws a Fault, and nothing else. */
export async function callTool(parts: CallParts, request: CallRequest): Promise<Buffer> {
  const call = new Call(request, parts.clock.now());
  try {
    authorize(parts.guard, request.principal, request.server, request.tool, 'call');
    const server = parts.find(request.server);
    if (server.config.tools[request.tool]?.hidden) throw unknownTool(server, request.tool);
    parts.budgets.charge();
    const result = await (request.idempotencyKey === undefined
      ? cachedOrCarried(parts, server, call)
      : onceByKey(parts, server, call, request.idempotencyKey));
    parts.budgets.chargeBytes(result.length);
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
  return parts.keys.run(principal, key, fingerprintOf(call.request), () =>
    carry(parts, server, call, undefined, undefined),
  );
}

function cachedOrCarried(parts: CallParts, server: Server, call: Call): Promise<Buffer> {
  const { signal } = call.request;
  const cacheable = lookUp(parts.cache, server, call.request);
  if (cacheable === undefined) return carry(parts, server, call, signal, undefined);
  if (cacheable.hit !== undefined) {
    parts.tally.hit(call);
    return Promise.resolve(cacheable.hit);
  }
  const launch = (flight: AbortSignal) => carry(parts, server, call, flight, cacheable);
  return parts.flights.join(cacheable.key.own, launch, signal);
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
  const { breaker } = server.supervisor;
  const pass = server.supervisor.gate();
  try {
    const message = await admitted(parts, server, call, signal);
    breaker.succeeded(pass);
    const result = resultOf(message, server);
    if (cacheable) keepResult(parts.cache, cacheable, message, result);
    parts.tally.answer(call, isErrorResult(message));
    return result;
  } catch (thrown) {
    const standing = standingAfter(server, call, thrown);
    if (standing === 'alive') breaker.succeeded(pass);
    else if (standing === 'failing') breaker.failed(pass);
    else breaker.withdrawn(pass);
    throw thrown;
  }
}

/** Waits for a place if need be, and holds the server while the call runs. */
async function admitted(
  parts: CallParts,
  server: Server,
  call: Call,
  signal: AbortSignal | undefined,
): Promise<Message> {
  const { admission, supervisor } = server;
  if (!admission.tryEnter()) await admission.enter(signal);
  supervisor.leases.hold();
  try {
    return await attempts(parts, server, call, signal);
  } finally {
    supervisor.leases.release();
    admission.leave();
    parts.pool.settle();
  }
}

/** Dispatches, and as long as the replay law allows it, dispatches again. */
async function attempts(
  parts: CallParts,
  server: Server,
  call: Call,
  signal: AbortSignal | undefined,
): Promise<Message> {
  const interruption = new Interruption();
  const patience = patienceFor(parts, server, call, interruption);
  const giveUp = signal && (() => interruption.raise(cancelledFault(server.name)));
  if (giveUp) signal.addEventListener('abort', giveUp);
  try {
    let seen: OfferedTool | undefined;
    for (;;) {
      const connection =
        server.supervisor.connection ?? (await interruption.of(server.supervisor.acquire()));
      const offered =
        server.catalogue.find(call.request.tool) ??
        (await unlisted(server, connection, call.request.tool, interruption));
      if (call.replays > 0) refuseIfChanged(server, call, seen, offered);
      seen = offered;
      try {
        return await dispatch(connection, call, offered, patience, interruption);
      } catch (thrown) {
        if (!(thrown instanceof Fault)) throw thrown;
        goOnAfter(server, connection, call, offered, thrown);
      }
    }
  } finally {
    patience.end();
    if (giveUp) signal.removeEventListener('abort', giveUp);
  }
}

function patienceFor(
  parts: CallParts,
  server: Server,
  call: Call,
  interruption: Interruption,
): Patience {
  const { callTimeoutMs, maxCallMs, tools } = server.config;
  const { tool, timeoutMs } = call.request;
  const limitMs = timeoutMs ?? tools[tool]?.timeoutMs ?? callTimeoutMs;
  return new Patience(parts.clock, limitMs, Math.max(limitMs, maxCallMs), () => {
    interruption.raise(timeoutFault(server.name, limitMs));
    // A timeout is not a death: only a probe that fails too will restart the server.
    if (call.generation !== null) server.supervisor.suspect(call.generation);
  });
}

/** Not in the list that was read: refused, unless a list read now has it or none can be read. */
async function unlisted(
  server: Server,
  connection: Connection,
  tool: string,
  interruption: Interruption,
): Promise<OfferedTool | undefined> {
  const { catalogue } = server;
  if (catalogue.offered === undefined) return undefined;
  const reading = catalogue.load(connection).catch((error: unknown) => {
    // A list that cannot be read now cannot say no: the server itself will.
    if (error instanceof Fault) return catalogue.forget();
    throw error;
  });
  await interruption.of(reading);
  const offered = catalogue.find(tool);
  if (offered === undefined && catalogue.offered !== undefined) throw unknownTool(server, tool);
  return offered;
}

/** "Safe to repeat" was said of the definition the caller saw; of another one nothing was said. */
function refuseIfChanged(
  server: Server,
  call: Call,
  seen: OfferedTool | undefined,
  offered: OfferedTool | undefined,
): void {
  if (seen?.contract.ground === 'operator' || seen?.digest === offered?.digest) return;
  throw unknownOutcome(server, call, seen, 'its definition changed when the server came back');
}

async function dispatch(
  connection: Connection,
  call: Call,
  offered: OfferedTool | undefined,
  patience: Patience,
  interruption: Interruption,
): Promise<Message> {
  const options = callOptions(connection, call.request, offered, patience);
  call.attempts += 1;
  call.generation = connection.generation;
  const exchange = connection.request('tools/call', callParams(call.request), options);
  interruption.interrupts((fault) => exchange.cancel(fault));
  patience.begin();
  const message = await exchange.answer;
  if (message.kind === 'error') throw rpcFault(connection, message);
  return message;
}

/** Returns if the call is to be dispatched again; throws what the caller will see if not. */
function goOnAfter(
  server: Server,
  connection: Connection,
  call: Call,
  offered: OfferedTool | undefined,
  fault: Fault,
): void {
  const contract = offered?.contract ?? contractOf(server.config, call.request.tool, false);
  const { attempts, replays } = call;
  const isConnectionLost = connection.isLost;
  const sequel = sequelOf({ fault, isConnectionLost, contract, attempts, replays });
  if (sequel === 'surface') throw fault;
  if (sequel === 'outcome_unknown') {
    throw unknownOutcome(server, call, offered, fault.message, fault);
  }
  if (sequel === 'replay') call.replays += 1;
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

function resultOf(message: Message, server: Server): Buffer {
  if (message.result === undefined) throw noResultFault(server.name);
  return message.bytes.subarray(message.result.start, message.result.end);
}

function isErrorResult(message: Message): boolean {
  const span = message.resultObject?.get('isError');
  return span !== undefined && booleanOf(message.bytes, span) === true;
}
