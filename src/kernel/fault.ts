// Everything that can go wrong with a call, as one table and one class. A fault is typed where it
// happens, from an errno, a status, a signal or a state, never from the text of a message. It says
// whether the request may have been sent (`dispatched`), because that decides whether it may run
// again. A tool result with `isError` is a result, not a fault: it shows that the server works.

/**
 * Whether the request was sent. `no`: it was still in our own queue. `maybe`: it was handed to the
 * pipe or socket. `yes`: the server has referred to it.
 */
export type Dispatched = 'no' | 'maybe' | 'yes';

interface FaultRow {
  /** The exit code of a command that ends in this fault. */
  readonly exit: 1 | 2 | 3 | 4 | 5;
  /** Whether it counts against the server's circuit breaker. */
  readonly trips: boolean;
  /** Whether the same call can succeed later, if it was not dispatched. */
  readonly retryable: boolean;
}

/**
 * The codes are permanent: scripts and agents decide by them. `FaultCode` says when each occurs.
 */
export const faultTable = {
  not_found: { exit: 2, trips: false, retryable: false },
  invalid_request: { exit: 2, trips: false, retryable: false },
  denied: { exit: 4, trips: false, retryable: false },
  budget_exceeded: { exit: 4, trips: false, retryable: false },
  conflict: { exit: 2, trips: false, retryable: false },
  rpc_error: { exit: 1, trips: false, retryable: false },
  unavailable: { exit: 3, trips: true, retryable: true },
  start_timeout: { exit: 3, trips: true, retryable: true },
  circuit_open: { exit: 3, trips: false, retryable: true },
  ejected: { exit: 3, trips: false, retryable: false },
  overloaded: { exit: 3, trips: false, retryable: true },
  draining: { exit: 3, trips: false, retryable: true },
  timeout: { exit: 3, trips: true, retryable: true },
  cancelled: { exit: 3, trips: false, retryable: false },
  outcome_unknown: { exit: 5, trips: true, retryable: false },
  frame_too_large: { exit: 3, trips: true, retryable: false },
  protocol_violation: { exit: 3, trips: true, retryable: false },
  quarantined: { exit: 4, trips: false, retryable: false },
  auth_required: { exit: 4, trips: false, retryable: false },
  internal: { exit: 3, trips: false, retryable: false },
} as const satisfies Record<string, FaultRow>;

/**
 * What went wrong. The codes are permanent.
 *
 * - `not_found`: there is no such server or tool
 * - `invalid_request`: the arguments, the options or the config cannot be used
 * - `denied`: the guard does not allow it
 * - `budget_exceeded`: a limit of `withBudget`, or of the budget of a role, is reached; see `limit`, `limitValue` and `spent`
 * - `conflict`: the idempotency key was used with another tool or other arguments
 * - `rpc_error`: the server answered with a JSON-RPC error; see `rpc`
 * - `unavailable`: the server cannot be started or reached
 * - `start_timeout`: the server was started and was not ready in time
 * - `circuit_open`: the server failed several times in a row; see `retryAfterMs`
 * - `ejected`: the server was restarted too often; `reload` brings it back
 * - `overloaded`: too many calls wait for the server, or this machine lacks memory or descriptors
 * - `draining`: the host is shutting down
 * - `timeout`: no answer came in time
 * - `cancelled`: the caller cancelled it
 * - `outcome_unknown`: the call was sent, then the server was lost; it may have run and was not repeated
 * - `frame_too_large`: the answer was larger than `limits.frameBytes`
 * - `protocol_violation`: what the server sent is not MCP
 * - `quarantined`: the tool's definition has changed since it was approved
 * - `auth_required`: the server requires a login
 * - `internal`: an error of Holdfast itself
 */
export type FaultCode = keyof typeof faultTable;

/** The JSON-RPC error that a server answered with. */
export interface RpcError {
  /** Its number, such as -32602. */
  readonly code: number;
  /** Its message. */
  readonly message: string;
  /** Additional data, as received; absent: none. */
  readonly data?: unknown;
}

/** A fault as plain data; the same in the library, in `--json` and for MCP clients. */
export interface FaultRecord {
  /** What went wrong. */
  readonly code: FaultCode;
  /** The server that was called; `holdfast`: the instance, which a window of `holdfast connect` lost or could not get; empty: none. */
  readonly server: string;
  /** The tool that was called; absent: none. */
  readonly tool?: string;
  /** Whether the server may have received the call. With `no` it has certainly not run. */
  readonly dispatched: Dispatched;
  /** How often the call was sent. */
  readonly attempts: number;
  /** True: the same call can be repeated without running twice, and may then succeed. */
  readonly retryable: boolean;
  /** How long to wait before the next attempt, in milliseconds; absent: not known. */
  readonly retryAfterMs?: number;
  /** Which start of the server it was sent to, counted from 1; absent: none. */
  readonly generation?: number;
  /** What went wrong, as text for people, and where possible what to do. */
  readonly detail: string;
  /**
   * The last lines that the server wrote to standard error, without secrets; only for the local
   * user. Absent: none.
   */
  readonly stderr?: string;
  /** With `rpc_error`: what the server answered. Absent otherwise. */
  readonly rpc?: RpcError;
  /** With `budget_exceeded`: which limit. Absent otherwise. */
  readonly limit?: 'calls' | 'perMinute' | 'bytes';
  /** With `budget_exceeded`: the value of that limit. Absent otherwise. */
  readonly limitValue?: number;
  /** With `budget_exceeded`: how much was used. Absent otherwise. */
  readonly spent?: number;
  /** With `outcome_unknown`: the call was answered, and its answer is no longer kept. Absent otherwise. */
  readonly answerDropped?: true;
}

/** The facts known where a fault is created; the call pipeline adds the rest. */
export type FaultFacts = Partial<Omit<FaultRecord, 'code' | 'detail'>>;

/**
 * The error that a call throws. `message` is the `detail` of the record; `cause` is the underlying
 * error, if there is one.
 */
export class Fault extends Error {
  /** Distinguishes it from other errors. */
  override readonly name = 'Fault';
  /** What went wrong. */
  readonly code: FaultCode;
  /** All facts, as plain data. */
  readonly record: FaultRecord;

  /** Missing facts default to: no server, not sent, no attempt. */
  constructor(code: FaultCode, detail: string, facts: FaultFacts = {}, cause?: unknown) {
    super(detail, cause === undefined ? undefined : { cause });
    const dispatched = facts.dispatched ?? 'no';
    this.code = code;
    this.record = {
      server: '',
      attempts: 0,
      retryable: faultTable[code].retryable && dispatched === 'no',
      ...facts,
      code,
      detail,
      dispatched,
    };
  }

  /** Whether the server may have received the call. With `no` it has certainly not run. */
  get dispatched(): Dispatched {
    return this.record.dispatched;
  }

  /** The same fault with more facts. Whether to retry follows from the new facts. */
  with(facts: FaultFacts): Fault {
    const { retryable, ...known } = this.record;
    const isRejudged = facts.dispatched !== undefined && facts.dispatched !== this.dispatched;
    const kept = isRejudged ? known : { ...known, retryable };
    return new Fault(this.code, this.record.detail, { ...kept, ...facts }, this.cause);
  }

  /** The same fault with a longer detail. */
  because(why: string): Fault {
    const { code, detail, ...facts } = this.record;
    return new Fault(code, `${detail}; ${why}`, facts, this.cause);
  }

  /** The record, so that `JSON.stringify` includes all of it. */
  toJSON(): FaultRecord {
    return this.record;
  }
}

/** The cause of a fault that is the gateway's own and not its server's; the message is fit for every caller. */
export class OwnTrouble extends Error {}

/**
 * Converts anything that was thrown into a fault; an error that is not a Fault is an internal
 * error.
 */
export function faultFrom(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  return new Fault('internal', detail, {}, thrown);
}
