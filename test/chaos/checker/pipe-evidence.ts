// The third kind of a wrong `dispatched` on a pipe: `maybe` for a frame that never left our queue. That
// it was not received proves nothing, for a frame in the pipe of a process that dies is not received
// either. So each rule here shows that the frame cannot have been in the pipe. They use what is
// physical (order, room, places) and no durations; what they cannot show they leave alone. They take
// from contract.md that there is one write outstanding per pipe, and that a server which serves one
// client has one process at a time (facts.json says which servers may have several), and from the
// fixture that it notes every call as it reads it, in order.
//
// Order. A pipe is first in, first out. X was answered before a client sent Y, so X left before Y if it
// left at all; a process that X would have gone to received Y and not X: X never left. A write cannot be
// taken back, so this also holds for the one that was outstanding. Which process that is:
//   - the one that the record's generation names. The generation of a process is known from the records
//     of calls that it received. Only calls with one dispatch: for the others, `maybe` may mean another.
//   - whatever the generation, where there is one process at a time: a process that had got a call that was answered before X was sent, and
//     gets Y after X was answered, was the only one during the whole life of X.
//
// Places. A server with concurrency N carries N calls. All calls of one generation that end in
// outcome_unknown end so because that process was lost, all at the same moment, and each held a place
// then; so did the safe calls that it had received and that were sent again to the next one. At most N
// less those received were in the pipe. (Calls that timed out or were cancelled gave their place back,
// though their frames may still be in the pipe: they are not counted here.)
//
// Room. All frames of one generation that claim to be in the pipe unread, whatever ended their calls,
// were in it at the end: together they are no more than the pipe holds, what the process had read ahead
// without looking at it, one frame that it had read in part, and one that was being written.

import { type Call, type FaultRecord, named } from './call.ts';
import type { Facts } from './facts.ts';
import { nameOf, Processes } from './processes.ts';
import type { Judged } from './record-rules.ts';
import type { Verdict } from './verdict.ts';

/**
 * What a stopped reader may hold: the chunk in hand (64 KiB), and behind a paused stream up to its mark
 * (64 KiB at most) and one more chunk.
 */
const READ_AHEAD_BYTES = 3 * 65_536;

/** How much there was to judge: a rule that never had a case has shown nothing. */
const SHOWN = 'never left, shown by the order of the pipe';
const LOST = 'processes lost with calls in them';
const CLAIMED = 'maybe without a receipt, on a pipe';

interface Claim {
  readonly call: Call;
  readonly fault: FaultRecord;
  readonly sentAt: number;
  readonly answeredAt: number;
}

export class PipeEvidence {
  readonly #facts: Facts;
  readonly #verdict: Verdict;
  readonly #processes: Processes;
  /** Faults of calls that no process received. */
  readonly #unread: Claim[] = [];
  /** By generation and nonce: what was lost with a process, and whether it had been received. */
  readonly #lost = new Map<string, Map<string, { call: Call; wasReceived: boolean }>>();

  constructor(facts: Facts, verdict: Verdict) {
    this.#facts = facts;
    this.#verdict = verdict;
    this.#processes = new Processes(verdict);
    for (const name of [SHOWN, LOST, CLAIMED]) verdict.adds(name, 0);
  }

  /** Any call to a server on a pipe; `sentAt` is when the first call of its nonce was sent. */
  take(judged: Omit<Judged, 'answer' | 'fault'>, sentAt: number): void {
    const { call, server, trace, group } = judged;
    const answer = call.answers[0];
    const isSafe = server.safeTools.has(call.tool);
    this.#processes.received(call, trace, sentAt);
    if (answer?.fault === undefined) return;
    const { fault } = answer;
    if (fault.dispatched !== 'no' && fault.generation === undefined) {
      this.#verdict.violates('evidence', `${named(call)}: no generation says which process`);
    }
    const isOneDispatch = this.#isOneDispatch(call, fault);
    if (isOneDispatch && group.length === 1) this.#processes.named(call, fault, trace);
    if (trace.receipts.length === 0) {
      this.#unread.push({ call, fault, sentAt, answeredAt: answer.at });
    }
    if (fault.code === 'outcome_unknown' && !isSafe) {
      this.#lose(call, fault, trace.receipts.length > 0);
    }
  }

  judge(): void {
    this.#processes.judge();
    this.#judgeOrder();
    this.#judgePlaces();
    this.#judgeRoom();
  }

  #lose(call: Call, { generation }: FaultRecord, wasReceived: boolean): void {
    if (generation === undefined) return; // reported already
    const of = nameOf(call, generation);
    const lost = this.#lost.get(of) ?? new Map<string, { call: Call; wasReceived: boolean }>();
    this.#lost.set(of, lost.set(call.nonce, { call, wasReceived }));
  }

  #judgeOrder(): void {
    for (const claim of this.#unread) {
      const { hasSeveral = false } = this.#facts.servers.get(claim.call.server) ?? {};
      const ofTheOnlyOne = hasSeveral ? undefined : this.#processes.receivedLater(claim);
      const later = ofTheOnlyOne ?? this.#ofItsGeneration(claim);
      if (later === undefined) continue;
      this.#verdict.adds(SHOWN);
      if (claim.fault.dispatched !== 'maybe') continue;
      const finding = `${named(claim.call)}: not received, but ${later.nonce} was (${later.place}), sent after the answer, by the same process`;
      this.#verdict.violates('maybeNeverLeft', finding);
    }
  }

  #ofItsGeneration({ call, fault, answeredAt }: Claim): Call | undefined {
    if (fault.dispatched !== 'maybe' || fault.generation === undefined) return undefined;
    if (!this.#isOneDispatch(call, fault)) return undefined;
    return this.#processes.lastOf(nameOf(call, fault.generation), answeredAt);
  }

  #judgePlaces(): void {
    for (const [of, lost] of this.#lost) {
      const calls = [...lost.values()];
      const unread = calls.filter(({ wasReceived }) => !wasReceived).map(({ call }) => call);
      const received = calls.length - unread.length + this.#processes.replayedFrom(of);
      const [first] = unread;
      const places = this.#facts.servers.get(first?.server ?? '')?.concurrency ?? 0;
      const excess = unread.length - Math.max(0, places - received);
      this.#verdict.adds(LOST);
      if (first === undefined || excess <= 0) continue;
      const finding = `${of}: ${places} places, ${received} of them with calls received, yet ${unread.length} more claim to have been sent: ${unread
        .slice(0, 4)
        .map((call) => named(call))
        .join('; ')}`;
      this.#verdict.violates('maybeNeverLeft', finding, excess);
    }
  }

  #judgeRoom(): void {
    for (const [of, calls] of this.#claimsByGeneration()) {
      const sizes = [...calls.values()].map(({ leastBytes }) => leastBytes).sort((a, b) => b - a);
      const whole = sizes.slice(2).reduce((sum, size) => sum + size, 0);
      const room = this.#facts.pipeBytes + READ_AHEAD_BYTES;
      if (whole <= room) continue;
      const some = [...calls.values()].slice(0, 4).map((call) => named(call));
      const finding = `${of}: ${sizes.length} frames unread, ${whole} bytes without the two largest, in a pipe of ${this.#facts.pipeBytes}: ${some.join('; ')}`;
      this.#verdict.violates('maybeNeverLeft', finding);
    }
  }

  #claimsByGeneration(): Map<string, Map<string, Call>> {
    const claims = new Map<string, Map<string, Call>>();
    for (const { call, fault } of this.#unread) {
      if (fault.dispatched !== 'maybe' || fault.generation === undefined) continue;
      if (!this.#isOneDispatch(call, fault)) continue;
      this.#verdict.adds(CLAIMED);
      const of = nameOf(call, fault.generation);
      claims.set(of, (claims.get(of) ?? new Map<string, Call>()).set(call.nonce, call));
    }
    return claims;
  }

  /** After `maybe` an unsafe call is never sent again, so whatever was sent went to the last process. */
  #isOneDispatch({ server, tool }: Call, { attempts }: FaultRecord): boolean {
    return attempts === 1 || this.#facts.servers.get(server)?.safeTools.has(tool) !== true;
  }
}
