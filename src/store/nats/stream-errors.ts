// What the errors of NATS mean to a caller of the store: a change that may have been sent is `not_kept`, what cannot
// be read now is `unreadable`, and a bound of the server is `full`.

import { ApiError, apiCodes } from '../../nats/jet-stream-api.ts';
import { NatsError } from '../../nats/nats-error.ts';
import { StoreError, storeClosed } from '../store-error.ts';

export function refusedChange(name: string, error: unknown): unknown {
  if (error instanceof NatsError) {
    if (error.reason === 'closed') return storeClosed();
    const told = `a change of ${name} is not known to be kept: ${error.message}`;
    return new StoreError('not_kept', told, error);
  }
  if (!(error instanceof ApiError)) return error;
  const told = `the NATS server has refused a change of ${name}: ${error.message}`;
  const isFull = error.isFull && error.code !== apiCodes.storeFailed;
  if (isFull) return new StoreError('full', told, error);
  if (error.code === apiCodes.messageTooLarge) return new StoreError('too_large', told, error);
  return new StoreError('not_kept', told, error);
}

/** A change that had to read first, and could not: nothing was sent, and whoever changes expects `not_kept`. */
export function refusedBefore(error: unknown): unknown {
  const isRead = error instanceof StoreError && error.reason === 'unreadable';
  const isAway = isRead && (error.cause instanceof NatsError || error.cause instanceof ApiError);
  return isAway ? new StoreError('not_kept', error.message, error.cause) : error;
}

export function refusedReading(name: string, error: unknown): unknown {
  if (error instanceof NatsError && error.reason === 'closed') return storeClosed();
  if (!(error instanceof NatsError || error instanceof ApiError)) return error;
  return new StoreError(
    'unreadable',
    `the shared store cannot be read now (${name}): ${error.message}`,
    error,
  );
}
