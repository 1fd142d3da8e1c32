import { describe, expect, it } from 'vitest';
import { Fault, type FaultCode, faultFrom, faultTable } from './fault.ts';

describe('a fault', () => {
  it('has dispatched "no" by default', () => {
    const fault = new Fault('unavailable', 'files cannot be started');
    expect(fault.toJSON()).toEqual({
      code: 'unavailable',
      server: '',
      dispatched: 'no',
      attempts: 0,
      retryable: true,
      detail: 'files cannot be started',
    });
    expect(fault.message).toBe('files cannot be started');
  });

  it.each(['maybe', 'yes'] as const)(
    'may not be retried when it was dispatched: %s',
    (dispatched) => {
      for (const code of Object.keys(faultTable) as FaultCode[]) {
        expect(new Fault(code, '', { dispatched }).record.retryable).toBe(false);
      }
    },
  );

  it('judges anew whether it may be retried when it learns how far the frame went', () => {
    const fault = new Fault('unavailable', 'gone');
    expect(fault.with({ dispatched: 'maybe' }).record.retryable).toBe(false);
    expect(fault.with({ dispatched: 'maybe' }).with({ dispatched: 'no' }).record.retryable).toBe(
      true,
    );
  });

  it('keeps the retryable flag of the code that raised it', () => {
    const fault = new Fault('budget_exceeded', 'wait a minute', { retryable: true });
    expect(fault.with({ server: 'files', attempts: 0 }).record.retryable).toBe(true);
  });

  it('keeps its code, its detail, its facts and its cause when facts are added', () => {
    const cause = new Error('EPIPE');
    const fault = new Fault('unavailable', 'gone', { stderr: 'boom', generation: 3 }, cause);
    const named = fault.with({ server: 'files', tool: 'read' });
    expect(named).not.toBe(fault);
    expect(named.record).toMatchObject({
      code: 'unavailable',
      detail: 'gone',
      stderr: 'boom',
      generation: 3,
      server: 'files',
      tool: 'read',
    });
    expect(named.cause).toBe(cause);
    expect(fault.record.server).toBe('');
  });
});

describe('the table of faults', () => {
  it('counts against a server only what the server did', () => {
    const tripping = Object.entries(faultTable).filter(([, row]) => row.trips);
    expect(tripping.map(([code]) => code)).toEqual([
      'unavailable',
      'start_timeout',
      'timeout',
      'outcome_unknown',
      'frame_too_large',
      'protocol_violation',
    ]);
  });

  it('invites to try again only where nothing but time is needed', () => {
    const retryable = Object.entries(faultTable).filter(([, row]) => row.retryable);
    expect(retryable.map(([code]) => code)).toEqual([
      'unavailable',
      'start_timeout',
      'circuit_open',
      'overloaded',
      'draining',
      'timeout',
    ]);
  });

  it('gives each code the exit code of the contract', () => {
    const exits = Object.fromEntries(
      Object.entries(faultTable).map(([code, { exit }]) => [code, exit]),
    );
    expect(exits).toEqual({
      not_found: 2,
      invalid_request: 2,
      denied: 4,
      budget_exceeded: 4,
      conflict: 2,
      rpc_error: 1,
      unavailable: 3,
      start_timeout: 3,
      circuit_open: 3,
      ejected: 3,
      overloaded: 3,
      draining: 3,
      timeout: 3,
      cancelled: 3,
      outcome_unknown: 5,
      frame_too_large: 3,
      protocol_violation: 3,
      quarantined: 4,
      auth_required: 4,
      internal: 3,
    });
  });
});

describe('whatever was thrown', () => {
  it('stays itself when it is a fault', () => {
    const fault = new Fault('denied', 'no');
    expect(faultFrom(fault)).toBe(fault);
  });

  it.each([[new TypeError('a defect'), 'a defect'] as const, ['a string', 'a string'] as const])(
    'is a defect of ours when it is not one: %s',
    (thrown, detail) => {
      const fault = faultFrom(thrown);
      expect(fault.record).toMatchObject({ code: 'internal', detail });
      expect(fault.cause).toBe(thrown);
    },
  );
});
