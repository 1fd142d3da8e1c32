import { describe, expect, it } from 'vitest';
import { Fault, type FaultCode, faultTable } from '../kernel/fault.ts';
import { disclosedFault, disclosedRecord } from './disclosure.ts';
import { cutBy, localUser, verifiedPrincipal } from './principal.ts';

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
