// What a broker refuses, as a fault of a command.

import { BrokerError } from '../../broker/broker-error.ts';
import { Fault } from '../../kernel/fault.ts';

/** Anything else unchanged. */
export function brokerFault(error: unknown): unknown {
  if (!(error instanceof BrokerError)) return error;
  const { reason, message } = error;
  if (reason === 'unauthorized' || reason === 'not_allowed') {
    return new Fault('auth_required', message, {}, error);
  }
  const code =
    reason === 'not_a_broker' || reason === 'unsupported' ? 'invalid_request' : 'unavailable';
  return new Fault(code, message, {}, error);
}
