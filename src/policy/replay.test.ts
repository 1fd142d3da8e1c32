import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Dispatched, Fault, type FaultCode, faultTable } from '../kernel/fault.ts';
import { afterFault, type Incident, type ReplayContract, replayContract } from './replay.ts';

const safe: ReplayContract = { replay: 'safe', ground: 'annotation' };
const never: ReplayContract = { replay: 'never', ground: 'default' };

function incident(
  dispatched: Dispatched,
  contract: ReplayContract,
  changes: Partial<Omit<Incident, 'fault' | 'contract'>> & { readonly code?: FaultCode } = {},
): Incident {
  const { code = 'unavailable', ...rest } = changes;
  const fault = new Fault(code, 'the server is gone', { dispatched });
  return { fault, isConnectionLost: true, contract, attempts: 1, replays: 0, ...rest };
}

describe('what may be repeated', () => {
  it.each([
    [null, false, false, 'never', 'default'],
    [null, false, true, 'never', 'default'],
    [null, true, false, 'never', 'default'],
    [null, true, true, 'safe', 'annotation'],
    ['safe', false, false, 'safe', 'operator'],
    ['never', true, true, 'never', 'operator'],
  ] as const)(
    'operator says %s, trusted %s, read-only %s -> %s by %s',
    (operator, isTrusted, isReadOnly, replay, ground) => {
      expect(replayContract(operator, isTrusted, isReadOnly)).toEqual({ replay, ground });
    },
  );
});

describe('what follows from a server that was lost before it answered', () => {
  it('is the first dispatch, if the call never left us, whatever its contract', () => {
    expect(afterFault(incident('no', never))).toBe('send');
    expect(afterFault(incident('no', safe))).toBe('send');
  });

  it.each(['maybe', 'yes'] as const)(
    'is one replay when it left us (%s) and is safe to repeat',
    (dispatched) => {
      expect(afterFault(incident(dispatched, safe))).toBe('replay');
      expect(afterFault(incident(dispatched, safe, { replays: 1, attempts: 2 }))).toBe('report');
    },
  );

  it.each(['maybe', 'yes'] as const)(
    'is outcome unknown, when it was sent (%s) and is not',
    (dispatched) => {
      expect(afterFault(incident(dispatched, never))).toBe('outcome_unknown');
      expect(afterFault(incident(dispatched, never, { isConnectionLost: false }))).toBe(
        'outcome_unknown',
      );
    },
  );

  it('is an end after three attempts', () => {
    expect(afterFault(incident('no', never, { attempts: 2 }))).toBe('send');
    expect(afterFault(incident('no', never, { attempts: 3 }))).toBe('report');
    expect(afterFault(incident('maybe', safe, { attempts: 3 }))).toBe('report');
  });

  it('is no second try where the connection has tried it for as long as that is done', () => {
    const isTriedOut = true;
    expect(afterFault(incident('no', safe, { isTriedOut }))).toBe('report');
    expect(afterFault(incident('maybe', safe, { isTriedOut }))).toBe('report');
    expect(afterFault(incident('maybe', never, { isTriedOut }))).toBe('outcome_unknown');
  });

  it('is no second try where the connection lives and said no', () => {
    expect(afterFault(incident('no', safe, { isConnectionLost: false }))).toBe('report');
  });

  it('is judged alike when the server was closed for breaking the protocol', () => {
    expect(afterFault(incident('maybe', never, { code: 'protocol_violation' }))).toBe(
      'outcome_unknown',
    );
    expect(afterFault(incident('no', never, { code: 'protocol_violation' }))).toBe('send');
  });
});

describe('what follows from an answer, or a decision of ours', () => {
  it('is that fault: a bad answer to this call, a timeout, a cancellation', () => {
    for (const code of [
      'frame_too_large',
      'timeout',
      'cancelled',
      'rpc_error',
      'auth_required',
    ] as const) {
      expect(afterFault(incident('maybe', safe, { code }))).toBe('report');
    }
    const answeredBadly = { code: 'protocol_violation', isConnectionLost: false } as const;
    expect(afterFault(incident('yes', safe, answeredBadly))).toBe('report');
  });
});

describe('the replay rules', () => {
  it('never repeats what may have run and is not known to be safe', () => {
    const incidents = fc.record({
      code: fc.constantFrom(...(Object.keys(faultTable) as FaultCode[])),
      dispatched: fc.constantFrom<Dispatched>('no', 'maybe', 'yes'),
      contract: fc.constantFrom(safe, never),
      isConnectionLost: fc.boolean(),
      attempts: fc.integer({ min: 1, max: 5 }),
      replays: fc.nat(3),
    });
    fc.assert(
      fc.property(incidents, ({ dispatched, contract, ...rest }) => {
        const after = afterFault(incident(dispatched, contract, rest));
        const isRepeated = after === 'send' || after === 'replay';
        if (isRepeated) {
          expect(dispatched === 'no' || contract.replay === 'safe').toBe(true);
          expect(rest.attempts).toBeLessThan(3);
        }
        if (after === 'replay') expect(rest.replays).toBe(0);
        if (after === 'send') expect(dispatched).toBe('no');
        if (after === 'outcome_unknown') expect(dispatched).not.toBe('no');
      }),
      { numRuns: 1_000 },
    );
  });
});
