// The seat of one process in a mailbox that several may share.

import { randomBytes } from 'node:crypto';

export function randomSeat(): string {
  return randomBytes(8).toString('hex');
}
