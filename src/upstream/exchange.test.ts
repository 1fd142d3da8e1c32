import { describe, expect, it } from 'vitest';
import { settled } from '../../test/support/manual-clock.ts';
import { Fault } from '../kernel/fault.ts';
import { scanMessage } from '../wire/scan.ts';
import { Exchange } from './exchange.ts';

const gone = new Fault('unavailable', 'files is gone');
const result = scanMessage(Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}'));

function newExchange() {
  const abandoned: Exchange[] = [];
  const exchange = new Exchange(1, undefined, (one) => abandoned.push(one));
  exchange.answer.catch(() => {});
  return { exchange, abandoned };
}

describe('an exchange', () => {
  it('has not left us at first, and has certainly arrived when it is answered', async () => {
    const { exchange } = newExchange();
    expect(exchange.dispatched).toBe('no');
    exchange.answered(result);
    expect(exchange.dispatched).toBe('yes');
    expect(await exchange.answer).toBe(result);
  });

  it.each([
    ['no', true],
    ['maybe', false],
    ['yes', false],
  ] as const)('tells the fault how far its frame went: %s', async (dispatched, retryable) => {
    const { exchange } = newExchange();
    exchange.dispatched = dispatched;
    exchange.fail(gone);
    await expect(exchange.answer).rejects.toMatchObject({ record: { dispatched, retryable } });
  });

  it('settles once: whatever comes later changes nothing', async () => {
    const { exchange, abandoned } = newExchange();
    exchange.answered(result);
    expect(exchange.isSettled).toBe(true);
    exchange.cancel(gone);
    exchange.fail(gone);
    expect(await exchange.answer).toBe(result);
    expect(abandoned).toEqual([]);
  });

  it('is cancelled once, and ends with the fault of the cancellation', async () => {
    const { exchange, abandoned } = newExchange();
    exchange.cancel(new Fault('cancelled', 'enough'));
    exchange.cancel(new Fault('timeout', 'too late'));
    await expect(exchange.answer).rejects.toMatchObject({ code: 'cancelled' });
    await settled();
    expect(abandoned).toEqual([exchange]);
  });
});
