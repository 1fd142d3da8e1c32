// Writes down who called what, in the audit log: a line before anything is asked of a server, one when
// the call has ended, and one for a call that was not allowed. With `required` a call waits until its first
// line is on the disk, and is refused if that cannot be done; with `on` nothing waits.

import { type AuditedCall, boundedCall, boundedReason } from '../../audit/audit-record.ts';
import { type AuditTrail, NotAudited } from '../../audit/audit-trail.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Fault, OwnTrouble } from '../../kernel/fault.ts';
import type { Kind } from '../../policy/access.ts';
import { cutOf, nameOf, ownerOf, type Principal } from '../../policy/principal.ts';
import type { CallObserver, CallOutcome, ObservedCall } from './call-observer.ts';
import type { Call } from './call-parts.ts';

/** Whether calls are written down, and whether they wait for that. */
export type AuditMode = 'off' | 'on' | 'required';

export interface HostAudit {
  readonly mode: Exclude<AuditMode, 'off'>;
  readonly trail: AuditTrail;
  /** How often lines that were written were found to be gone; absent: that is not known. */
  readonly gaps?: () => number;
  /** The process that writes, where that is not the instance: one of several processes of it in a rollout. */
  readonly process?: string;
}

export interface CallAuditParts extends HostAudit {
  readonly clock: Clock;
  /** Of this process; no other one ever has it. */
  readonly process: string;
  /** The role that decides; that of the local user, too. */
  readonly roleOf: (principal: Principal) => string | null;
  /**
   * Replaces known secrets in what somebody else has chosen: those of all servers, so that it takes as long for
   * what is hidden as for what does not exist. `isCut`: at the end there may be the beginning of one.
   */
  readonly redact: (text: string, isCut: boolean) => string;
}

/** What somebody asked for who may not see it. */
export interface RefusedRequest {
  readonly server: string | null;
  readonly kind: Kind;
  readonly name: string | null;
  readonly method: string;
}

export interface Refusal {
  readonly request: RefusedRequest;
  readonly why: string;
}

/** For callers who may not see the disk of the gateway. */
const notAudited =
  'the gateway cannot write its audit log now, so the call was not sent; its operator can see why; retry later';

/** Secrets are looked for in so much of a text: twice what a line has room for. */
const longestText = 1_024;

export class CallAudit implements CallObserver {
  readonly #parts: CallAuditParts;
  #nextId = 1;

  constructor(parts: CallAuditParts) {
    this.#parts = parts;
  }

  /** What the call has to wait for; undefined: nothing. Throws `unavailable` if it must not go on. */
  begin(call: Call): Promise<void> | undefined {
    const { mode, trail } = this.#parts;
    const { principal, server, operation, about } = call.request;
    const { method } = operation;
    const asked = this.#asked(principal, { server, method, ...(about ?? operation) });
    const id = this.#newId();
    const record = { kind: 'begin', at: this.#at(call), id, ...asked } as const;
    call.auditId = id;
    if (mode === 'on') return trail.note(record) as undefined;
    return trail.keep(record).catch((error: unknown) => {
      if (!(error instanceof NotAudited)) throw error;
      if (!error.isPending) call.auditId = null;
      throw new Fault(
        error.isFull ? 'overloaded' : 'unavailable',
        `${error.message}; the call was not sent, because audit is "required" in the config`,
        { server },
        new OwnTrouble(notAudited),
      );
    });
  }

  /** Of a call that went through the pipeline; one that was not allowed has not begun. */
  settled(call: Call, outcome: CallOutcome, fault: Fault | undefined): void {
    const { trail, clock } = this.#parts;
    const { auditId: id } = call;
    if (id === null) {
      const { principal, server, operation, about } = call.request;
      const { method } = operation;
      if (outcome !== 'denied') return;
      const { kind, name } = about ?? operation;
      const request = { server, method, kind, name };
      const why = fault?.message ?? '';
      return this.denied(principal, request, () => ({ request, why }));
    }
    const sent = call.attempts > 0 ? 'yes' : 'no';
    const dispatched = fault ? fault.dispatched : sent;
    const ms = Math.round(clock.now() - call.startedAt);
    trail.note({ kind: 'end', at: clock.wallNow(), id, outcome, dispatched, ms });
  }

  /**
   * What was asked for, and why it was refused, is found out when the line is written, and only for those that get one: until
   * then the same is done whether it is hidden or does not exist, and no answer of this moment takes longer for it.
   */
  denied(principal: Principal, wish: RefusedRequest, refusal: () => Refusal): void {
    const { trail, clock } = this.#parts;
    const [at, id] = [clock.wallNow(), this.#newId()];
    const { server, kind, name, method } = wish;
    const nameless = this.#asked(principal, { server: null, kind: 'other', name: null, method });
    const record = () => {
      const { request, why } = refusal();
      const asked = this.#asked(principal, request);
      return {
        kind: 'denied',
        at,
        id,
        ...asked,
        reason: boundedReason(this.#redacted(why)),
      } as const;
    };
    trail.noteDenied({ at, id, ...nameless, wish: [server, kind, name, method], record });
  }

  /** Of the gateway's own tools: nothing is dispatched, and nothing waits. */
  ended(call: ObservedCall, outcome: CallOutcome, _fault: Fault | undefined): void {
    const { trail, clock } = this.#parts;
    const { principal, server, operation } = call.request;
    if (server !== null || operation.kind !== 'tool' || operation.name === null) return;
    const asked = this.#asked(principal, { server, ...operation });
    const id = this.#newId();
    trail.note({ kind: 'begin', at: this.#at(call), id, ...asked });
    const ms = Math.round(clock.now() - call.startedAt);
    trail.note({ kind: 'end', at: clock.wallNow(), id, outcome, dispatched: 'no', ms });
  }

  #newId(): string {
    return `${this.#parts.process}-${this.#nextId++}`;
  }

  /** Its beginning as wall time. */
  #at({ startedAt }: ObservedCall): number {
    const { clock } = this.#parts;
    return Math.round(clock.wallNow() - (clock.now() - startedAt));
  }

  /** Cut first: a name from outside may have megabytes, and secrets are looked for in all of it. */
  #redacted(text: string): string {
    return this.#parts.redact(text.slice(0, longestText), text.length > longestText);
  }

  #asked(principal: Principal, { server, kind, name, method }: RefusedRequest): AuditedCall {
    const { roleOf } = this.#parts;
    const cut = cutOf(principal);
    const token = nameOf(principal);
    return boundedCall({
      principal: ownerOf(principal).id,
      ...(token !== undefined && { token }),
      role: roleOf(principal),
      path: cut ? `${cut.kind}/${cut.name}` : null,
      server,
      what: kind,
      name: name && this.#redacted(name),
      method,
    });
  }
}
