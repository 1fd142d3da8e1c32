// A server with an effect that must not happen twice: `deposit` adds a line to the ledger (a file
// named by BANK_LEDGER; without one it is kept in memory) and then takes a moment for the receipt.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { serve } from './mcp-server.mjs';

const file = process.env.BANK_LEDGER;
const inMemory = [];

serve('bank', {
  deposit: {
    description: 'Put an amount into the account.',
    inputSchema: {
      type: 'object',
      properties: { amount: { type: 'number', description: 'How much' } },
      required: ['amount'],
    },
    async run({ amount }, report) {
      if (typeof amount !== 'number') throw new Error('say how much: amount=100');
      book(amount);
      report('booked, printing the receipt');
      await pause(400);
      return `deposited ${amount}, balance ${balance()}`;
    },
  },
  balance: {
    description: 'How much is in the account.',
    inputSchema: { type: 'object', properties: {} },
    annotations: { readOnlyHint: true },
    run: () => String(balance()),
  },
});

function book(amount) {
  if (file) appendFileSync(file, `${amount}\n`);
  else inMemory.push(amount);
}

function balance() {
  const amounts = file && existsSync(file) ? readFileSync(file, 'utf8').split('\n') : inMemory;
  return amounts.reduce((sum, amount) => sum + Number(amount), 0);
}
