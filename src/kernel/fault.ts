// Everything that can go wrong with a call, as one table and one class. A fault is typed where it
// happens, from an errno, a status, a signal or a state, never from the text of a message; it says
// whether the request may have left us (`dispatched`), because that alone decides if it may run
// again. A tool result with `isError` is a result, not a fault: it proves the server is alive.

/**
 * Whether the request left us. `no`: it was still in our own queue. `maybe`: it was handed to the
 * pipe or socket. `yes`: the server has referred to it.
 */
export type Dispatched = 'no' | 'maybe' | 'yes';

interface FaultRow {
  /** The exit code of a command that ends in this fault. */
  readonly exit: 1 | 2 | 3 | 4 | 5;
  /** Does it count against the server's circuit breaker? */
  readonly trips: boolean;
  /** May the caller usefully try the same call again, if it was not dispatched? */
  readonly retryable: boolean;
}

/** The codes are permanent: scripts and agents decide by them. */
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

export type FaultCode = keyof typeof faultTable;

/** The JSON-RPC error a server answered with; `data` is left as it came. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The machine-readable form, the same on every face. */
export interface FaultRecord {
  code: FaultCode;
  server: string;
  tool?: string;
  dispatched: Dispatched;
  attempts: number;
  retryable: boolean;
  retryAfterMs?: number;
  generation?: number;
  detail: string;
  stderr?: string;
  rpc?: RpcError;
  limit?: string;
  limitValue?: number;
  spent?: number;
}

/** What a place that raises a fault knows; the call pipeline adds the rest. */
export type FaultFacts = Partial<Omit<FaultRecord, 'code' | 'detail'>>;

export class Fault extends Error {
  override readonly name = 'Fault';
  readonly code: FaultCode;
  readonly record: FaultRecord;

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

  get dispatched(): Dispatched {
    return this.record.dispatched;
  }

  /** The same fault with more of the facts filled in. Whether to retry follows the new facts. */
  with(facts: FaultFacts): Fault {
    const { retryable, ...known } = this.record;
    const isRejudged = facts.dispatched !== undefined && facts.dispatched !== this.dispatched;
    const kept = isRejudged ? known : { ...known, retryable };
    return new Fault(this.code, this.record.detail, { ...kept, ...facts }, this.cause);
  }

  /** The same fault with more of its cause in words. */
  because(why: string): Fault {
    const { code, detail, ...facts } = this.record;
    return new Fault(code, `${detail}; ${why}`, facts, this.cause);
  }

  toJSON(): FaultRecord {
    return this.record;
  }
}

/** At an edge: whatever was thrown becomes a fault; what is not one of ours is a defect of ours. */
export function faultFrom(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  return new Fault('internal', detail, {}, thrown);
}
