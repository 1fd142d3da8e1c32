// The rules about who may do what, and how much. What the guard refuses is refused at once, before
// anything is charged, started or sent, and is seen in no list; what it allows is never refused in
// its name, and is in every list that could be read. Of a budget exactly as many calls are issued as
// it allows, cached or not.

import type { Principal } from '../../src/policy/principal.ts';
import type { Violated } from './call-rules.ts';
import { type CallBook, type CallRecord, describe } from './calls.ts';
import type { ServedCall } from './ledger.ts';
import type { People } from './people.ts';

/** An entry of a list: a tool, or a server that could not be asked. */
export interface Seen {
  readonly server: string;
  readonly tool?: string;
}

type Hides = (server: string, tool: string) => boolean | undefined;

const visible = ['read', 'write', 'set'];

export class PolicyRules {
  readonly #book: CallBook;
  readonly #people: People;
  readonly #violated: Violated;

  constructor(book: CallBook, people: People, violated: Violated) {
    this.#book = book;
    this.#people = people;
    this.#violated = violated;
  }

  // --- calls -------------------------------------------------------------------------------

  /** A server has read a call: somebody must have been allowed to make it. */
  received({ server, tool, nonce }: ServedCall): void {
    const isCalled = ({ plan, standing }: CallRecord) =>
      plan.server === server && plan.tool === tool && mayRun({ standing });
    if (this.#book.of(nonce).some(isCalled)) return;
    this.#violated(
      'guard',
      `${server}/${tool} ${nonce} was sent, which nobody was allowed to call`,
    );
  }

  ended(record: CallRecord): void {
    this.#judgeGuard(record);
    this.#judgeBudget(record);
  }

  #judgeGuard(record: CallRecord): void {
    const { standing, ended, begunStep } = record;
    const code = codeOf(record);
    if (standing.isAllowed === (code === 'denied')) {
      const is = standing.isAllowed ? 'is allowed' : 'is not allowed';
      this.#violated('guard', `${describe(record)} ${is} and ended in ${code}`);
    } else if (code === 'denied' && ended?.step !== begunStep) {
      this.#violated('guard', `${describe(record)} was denied late`);
    } else if (standing.isHidden === true && !hiddenEndings.has(code)) {
      this.#violated('guard', `${describe(record)} is hidden and ended in ${code}`);
    }
  }

  #judgeBudget(record: CallRecord): void {
    const { isOverBudget } = record.standing;
    const code = codeOf(record);
    if (isOverBudget === undefined) return;
    if (isOverBudget === (code === 'budget_exceeded')) return;
    const has = isOverBudget ? 'has nothing left of its budget' : 'is within its budget';
    this.#violated('budget', `${describe(record)} ${has} and ended in ${code}`);
  }

  // --- lists -------------------------------------------------------------------------------

  /** `hides` says what the config hides, and undefined of what that changes about. */
  sees(principal: Principal, found: readonly Seen[], hides: Hides): void {
    for (const { server, tool } of found) {
      const isHidden = tool !== undefined && hides(server, tool) === true;
      if (!isHidden && this.#people.mayUse(principal, server, tool ?? null)) continue;
      this.#violated('guard', `${principal.id} sees ${server}/${tool ?? ''}`);
    }
  }

  /** Everything of this server that could be seen. */
  seesAll(principal: Principal, server: string, found: readonly Seen[], hides: Hides): void {
    if (!this.#people.mayUse(principal, server, null)) return;
    for (const tool of visible) {
      if (hides(server, tool) !== false) continue;
      if (!this.#people.mayUse(principal, server, tool)) continue;
      if (found.some((seen) => seen.tool === tool)) continue;
      this.#violated('guard', `${principal.id} may call ${server}/${tool} and does not see it`);
    }
  }
}

/** Turned away before it is known whether it is there. */
const hiddenEndings: ReadonlySet<string> = new Set([
  'denied',
  'not_found',
  'draining',
  // Its server is disabled.
  'invalid_request',
  'bereft',
]);

/** May it reach a server at all? */
export function mayRun({ standing }: Pick<CallRecord, 'standing'>): boolean {
  return standing.isAllowed && standing.isHidden !== true && standing.isOverBudget !== true;
}

function codeOf({ ended }: CallRecord): string {
  const ending = ended?.ending;
  return ending?.kind === 'fault' ? ending.fault.code : (ending?.kind ?? 'nothing');
}
