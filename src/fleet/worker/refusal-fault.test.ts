// What a refusal of the broker is for the client of a worker, for every reason that there is: what somebody has to change
// first is not worth another try, and a call that may have run says so.

import { describe, expect, it } from 'vitest';
import { BrokerError, type BrokerRefusal } from '../../broker/broker-error.ts';
import { refusalFault } from './refusal-fault.ts';

const mended = [
  ['unauthorized', 'auth_required'],
  ['not_allowed', 'denied'],
  ['not_a_broker', 'unavailable'],
  ['unsupported', 'unavailable'],
  ['replaced', 'unavailable'],
  ['bad_letter', 'invalid_request'],
  ['too_large', 'invalid_request'],
] as const;
const passing = [
  ['full', 'overloaded'],
  ['absent', 'unavailable'],
  ['not_kept', 'unavailable'],
  ['lost', 'unavailable'],
  ['closed', 'unavailable'],
] as const;

function told(reason: BrokerRefusal, dispatched: 'no' | 'maybe') {
  const cause = new BrokerError(reason, 'as the test says');
  const { message, record } = refusalFault(cause, { server: 'boss', dispatched });
  return { message, ...record };
}

describe('a refusal of the broker', () => {
  it.each(mended)('%s is %s, and not to be tried again #revoked', (reason, code) => {
    const fault = told(reason, 'no');
    expect(fault).toMatchObject({ code, retryable: false, dispatched: 'no' });
    expect(fault.message).toContain('boss cannot be reached: as the test says');
  });

  it.each(passing)('%s is %s, and may be over soon #revoked', (reason, code) => {
    expect(told(reason, 'no')).toMatchObject({ code, retryable: true });
  });

  it.each([...mended, ...passing])(
    '%s of a call that was sent is not to be tried again, and says what is not said elsewhere #revoked',
    (reason, code) => {
      const fault = told(reason, 'maybe');
      expect(fault).toMatchObject({ retryable: false, dispatched: 'maybe' });
      expect(fault.message.includes('it may have run')).toBe(code !== 'unavailable');
    },
  );
});
