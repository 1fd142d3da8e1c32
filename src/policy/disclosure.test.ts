import { describe, expect, it } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { Fault, type FaultCode, faultTable } from '../kernel/fault.ts';
import { disclosedFault, disclosedRecord } from './disclosure.ts';
import { cutBy, localUser, verifiedPrincipal } from './principal.ts';
import { Account } from './role-budgets/account.ts';

const stranger = { id: 'token:x', role: 'reader' };
const secret = "the command '/opt/secret/run' exited with code 1: Error: no key";
const faultOf = (code: FaultCode) =>
  new Fault(code, secret, { server: 'files', tool: 'read', stderr: 'Error: no key' });

describe('what a principal sees of a fault', () => {
  it('is everything for the local user, known by identity', () => {
    const fault = faultOf('unavailable');
    expect(disclosedFault(fault, localUser)).toBe(fault);
    expect(disclosedRecord(fault.record, localUser)).toBe(fault.record);
    expect(disclosedRecord(fault.record, { ...localUser })).not.toHaveProperty('stderr');
  });

  it('behind a path that narrows is an operator’s only of what the path leaves #path-takes-away', () => {
    const { record } = faultOf('unavailable');
    const operator = verifiedPrincipal('token:o', 'ops', () => true);
    for (const owner of [localUser, operator]) {
      const files = cutBy(owner, { kind: 'server', name: 'files' });
      expect(disclosedRecord(record, files)).toBe(record);
      for (const server of ['other', '']) {
        const { detail } = disclosedRecord({ ...record, server }, files);
        expect(detail).not.toContain('secret');
      }
      const role = { kind: 'role', name: 'reader' } as const;
      expect(disclosedRecord(record, cutBy(owner, role))).not.toHaveProperty('stderr');
      const ofOperators = cutBy(owner, role, () => true);
      expect(disclosedRecord(record, ofOperators)).toBe(record);
      expect(disclosedRecord({ ...record, server: '' }, ofOperators)).not.toHaveProperty('stderr');
    }
    const none = cutBy(stranger, { kind: 'server', name: 'files' }, () => true);
    expect(disclosedRecord(record, none)).not.toHaveProperty('stderr');
  });

  it.each(Object.keys(faultTable) as FaultCode[])(
    'is never stderr for anybody else: %s #stderr-guarded',
    (code) => {
      const { record } = disclosedFault(faultOf(code), stranger);
      expect(record).not.toHaveProperty('stderr');
      expect(record).toMatchObject({ code, server: 'files', tool: 'read' });
      expect(record.retryable).toBe(faultOf(code).record.retryable);
    },
  );

  it.each([
    'unavailable',
    'overloaded',
    'start_timeout',
    'circuit_open',
    'ejected',
    'outcome_unknown',
    'protocol_violation',
    'auth_required',
    'internal',
  ] as const)('has no command in its detail: %s #stderr-guarded', (code) => {
    const { detail } = disclosedFault(faultOf(code), stranger).record;
    expect(detail).not.toMatch(/secret|no key|command/);
    expect(detail.length).toBeGreaterThan(20);
  });

  it.each([
    ['not_found', "server 'files' has no tool 'x'; there are payroll and secrets"],
    [
      'denied',
      `call of 'files/x' is not allowed: "files/*" in "deny" of the role 'staff' matches it`,
    ],
  ] as const)('says of %s only that there is no such thing here #roles-deny', (code, words) => {
    const fault = new Fault(code, words, { server: 'files' });
    expect(disclosedFault(fault, stranger).message).toBe('there is no such thing here');
    expect(disclosedFault(fault, localUser).message).toBe(words);
  });

  it('does not name the role whose budget is spent, nor the config, but what to do', () => {
    const budget = {
      rules: { calls: 1, perMinute: 1, bytes: 9, per: 'principal' },
      mark: '',
    } as const;
    const told = (spend: (account: Account) => void) => {
      const clock = manualClock();
      const account = new Account({ clock, role: 'staff', budget });
      try {
        spend(account);
        void account.room();
      } catch (fault) {
        return [stranger, localUser].map((one) => disclosedFault(fault as Fault, one).message);
      }
      return [];
    };
    const [calls, full] = told((account) => {
      account.count();
    });
    expect(calls).toBe('the budget of 1 calls is spent; ask whoever runs this gateway for more');
    expect(full).toContain('roles.staff.budget');
    expect(told((account) => account.countBytes(10))[0]).toBe(
      'the budget of 9 bytes is spent; ask whoever runs this gateway for more',
    );
    const perMinute = new Fault('budget_exceeded', 'x', {
      ...{ limit: 'perMinute', limitValue: 60, retryAfterMs: 2_500, retryable: true },
    });
    expect(disclosedFault(perMinute, stranger).message).toBe(
      'the budget of 60 calls per minute is spent; retry after 3 s',
    );
  });

  it('does not claim that no answer came where one was dropped', () => {
    const dropped = faultOf('outcome_unknown').with({ answerDropped: true });
    expect(disclosedFault(dropped, stranger).record.detail).toBe(
      'files/read was answered before under this key, and that answer is no longer kept; it was not repeated; check its effect before you send it again',
    );
    const lost = disclosedFault(faultOf('outcome_unknown'), stranger).record;
    expect(lost.detail).toContain('then no answer came');
    expect(lost).not.toHaveProperty('answerDropped');
  });

  it('keeps what helps to go on', () => {
    const open = faultOf('circuit_open').with({ retryAfterMs: 4_200 });
    expect(disclosedFault(open, stranger).record).toMatchObject({
      detail: 'files failed several times in a row; retry after 5 s',
      retryAfterMs: 4_200,
    });
    const rpc = new Fault('rpc_error', 'no such row', { server: 'db' }, 'the answer');
    expect(disclosedFault(rpc, stranger)).toMatchObject({
      message: 'no such row',
      cause: 'the answer',
    });
  });
});
