// What the parts of the crash test of the mailbox are given, and what they count.

import type { Dice } from '../../support/dice.ts';
import type { Tally } from '../tally.ts';

export interface MailboxOptions {
  readonly tally: Tally;
  readonly dice: Dice;
  readonly signal: AbortSignal;
}

export const brokerKills = 'mailbox: kills of the broker';
export const struckKills = '  of these in the middle of a system call on its database';
export const failingLives = '  of these after system calls had failed';
export const confirmedLetters = 'mailbox: letters confirmed';
export const refusedLetters = 'mailbox: letters refused by a failing disk';
export const settledLetters = 'mailbox: acknowledgements known to the disk';
export const mailboxPowerCuts = 'mailbox: power cuts';
