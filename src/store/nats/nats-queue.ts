// A queue on a NATS server: each item is a value of its own, and a claim is a change of it that names the message
// which it replaces. So a lease has one holder, and a claim that is over changes nothing. A consumer of JetStream
// would not do: an acknowledgement that comes too late is taken without a word, and removes the item of its next
// holder.

import { randomBytes } from 'node:crypto';
import type { Claim, Queue } from '../contract/queue.ts';
import { Lanes } from '../lanes.ts';
import { jsonText } from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { Cell, Cells } from './cells.ts';
import { itemHeaders, QueueIndex } from './queue-index.ts';
import type { WordParts } from './word-parts.ts';

interface Lease {
  readonly born: number | undefined;
  readonly attempt: number;
  readonly freeAt: number;
  readonly isClaimed: boolean;
}

const tries = 64;

export function natsQueue(
  { during, changing, clock }: WordParts,
  cells: Cells,
  name: string,
  maxEntries: number,
): Queue {
  const lanes = new Lanes();
  const index = new QueueIndex(cells);
  const now = async () => (await cells.stream.open()).session.now();

  const write = async (id: string, text: string, lease: Lease, replaces?: Cell) => {
    const headers = headersOf(id, lease);
    const expected = replaces?.sequence ?? 0;
    return await cells.write(id, { text, expiresAt: null, headers, expected, replaces });
  };

  const put = async (text: string, delayMs: number): Promise<void> => {
    await index.refresh();
    if (index.size >= maxEntries) {
      throw new StoreError('full', `the queue ${name} is full: ${index.size} wait`);
    }
    const id = randomBytes(12).toString('hex');
    const freeAt = (await now()) + delayMs;
    await write(id, text, { born: undefined, attempt: 0, freeAt, isClaimed: false });
  };

  const claim = async (leaseMs: number): Promise<Claim | undefined> => {
    for (let tried = 0; tried < tries; tried += 1) {
      await index.refresh();
      const until = clock.now() + leaseMs;
      const at = await now();
      const item = index.firstFree(at);
      if (item === undefined) return undefined;
      const cell = await cells.read(item.id);
      if (cell?.sequence === item.sequence) {
        const attempt = leaseIn(cell).attempt + 1;
        const lease = { born: item.born, attempt, freeAt: at + leaseMs, isClaimed: true };
        const isOurs = (await write(item.id, cell.text, lease, cell)) !== undefined;
        const id = `${item.id}.${attempt}`;
        if (isOurs) return { id, value: JSON.parse(cell.text), attempt, until };
      }
      index.drop(item);
    }
    return undefined;
  };

  /** Repeats the change while the claim holds the item. */
  const asHolder = async (
    claimId: string,
    change: (cell: Cell, lease: Lease) => Promise<number | undefined>,
  ): Promise<void> => {
    const [id = '', attempt = ''] = claimId.split('.');
    for (let tried = 0; tried < tries; tried += 1) {
      const cell = /^[0-9a-f]{24}$/.test(id) ? await cells.read(id) : undefined;
      const lease = cell && leaseIn(cell);
      const isHeld =
        lease?.isClaimed === true &&
        String(lease.attempt) === attempt &&
        (await now()) < lease.freeAt;
      if (cell === undefined || lease === undefined || !isHeld) break;
      if ((await change(cell, lease)) !== undefined) return;
    }
    const told = `this claim of an item of ${name} is over; another may hold the item`;
    throw new StoreError('lost_claim', told);
  };

  const free = (claimId: string, delayMs: number) =>
    asHolder(claimId, async (cell, lease) => {
      const freeAt = (await now()) + delayMs;
      return await write(cell.key, cell.text, { ...lease, freeAt, isClaimed: false }, cell);
    });

  const extend = async (claimId: string, leaseMs: number): Promise<number> => {
    const until = clock.now() + leaseMs;
    await asHolder(claimId, async (cell, lease) => {
      const freeAt = (await now()) + leaseMs;
      return await write(cell.key, cell.text, { ...lease, freeAt }, cell);
    });
    return until;
  };

  const size = async () => {
    await index.refresh();
    return index.size;
  };

  // One at a time: all of them change the index.
  const inTurn = <T>(work: () => Promise<T>) => changing(() => lanes.run('', work));
  return {
    put: (value, { delayMs = 0 } = {}) => inTurn(async () => put(jsonText(value), delayMs)),
    claim: (leaseMs) => inTurn(() => claim(leaseMs)),
    ack: (claimId) =>
      inTurn(() => asHolder(claimId, (cell) => cells.writeRemoved(cell.key, cell, cell.sequence))),
    giveBack: (claimId, { delayMs = 0 } = {}) => inTurn(() => free(claimId, delayMs)),
    extend: (claimId, leaseMs) => inTurn(() => extend(claimId, leaseMs)),
    size: () => during(() => lanes.run('', size)),
  };
}

function headersOf(id: string, { born, attempt, freeAt, isClaimed }: Lease) {
  return new Map<string, string>([
    [itemHeaders.id, id],
    ...(born === undefined ? [] : [[itemHeaders.born, String(born)] as const]),
    [itemHeaders.attempt, String(attempt)],
    [itemHeaders.freeAt, String(freeAt)],
    ...(isClaimed ? [[itemHeaders.claimed, '1'] as const] : []),
  ]);
}

function leaseIn({ headers, sequence }: Cell): Lease {
  return {
    born: Number(headers.get(itemHeaders.born) ?? sequence),
    attempt: Number(headers.get(itemHeaders.attempt) ?? 0),
    freeAt: Number(headers.get(itemHeaders.freeAt) ?? 0),
    isClaimed: headers.has(itemHeaders.claimed),
  };
}
