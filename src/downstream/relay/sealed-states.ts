// The state of a modern server's question while a client has it: sealed, so that it comes back
// unchanged, and only from the same principal, for the same request, in time.

import { hash } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import type { MemberChanges } from '../../wire/member-edits.ts';
import type { Incoming } from '../incoming.ts';
import { requestFingerprint } from './parked-call.ts';
import type { Seal } from './seal.ts';

/** Long enough for a user who has to find a form first; the server may be stricter. */
const stateLivesMs = 3_600_000;

interface UpstreamState {
  readonly subject: string;
  readonly principal: string;
  readonly expiresAt: number;
  /** The server's own; null if it has none and the call is simply to be sent again. */
  readonly state: string | null;
}

export class SealedStates {
  readonly #seal: Seal;
  readonly #clock: Clock;

  constructor(seal: Seal, clock: Clock) {
    this.#seal = seal;
    this.#clock = clock;
  }

  /** For the client, as JSON. `state` is the server's own; null: the call is simply to be sent again. */
  sealed(incoming: Incoming, server: string, state: string | null): string {
    const sealed: UpstreamState = {
      subject: subjectOf(incoming, server),
      principal: incoming.principal.id,
      expiresAt: this.#clock.wallNow() + stateLivesMs,
      state,
    };
    return JSON.stringify(this.#seal.close(sealed));
  }

  /** What a follow-up with this opened state is written with; undefined if it was not given for it. */
  changesFor(opened: unknown, incoming: Incoming, server: string): MemberChanges | undefined {
    if (!isUpstreamState(opened) || !this.#isStateOf(opened, incoming, server)) return undefined;
    return opened.state === null
      ? { requestState: null, inputResponses: null }
      : { requestState: JSON.stringify(opened.state) };
  }

  #isStateOf(state: UpstreamState, incoming: Incoming, server: string): boolean {
    const isInTime = this.#clock.wallNow() < state.expiresAt;
    const isTheirs = state.principal === incoming.principal.id;
    return isInTime && isTheirs && state.subject === subjectOf(incoming, server);
  }
}

/** What a state belongs to: the server, and the request as it was first sent. */
function subjectOf(incoming: Incoming, server: string): string {
  return hash('sha256', JSON.stringify([server, requestFingerprint(incoming)]), 'base64url');
}

function isUpstreamState(state: unknown): state is UpstreamState {
  return typeof state === 'object' && state !== null && 'subject' in state && 'state' in state;
}
