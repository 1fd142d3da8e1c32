import { describe, expect, it } from 'vitest';
import { frameText } from '../../test/support/fake-gateway.ts';
import { BatchReply } from './batch-reply.ts';

const unheard = { gathered: () => {} };

describe('the answers to a batch', () => {
  it('leave as one array when the last is there; what comes before leaves at once', () => {
    const written: string[] = [];
    const batch = new BatchReply(2, (frame) => written.push(frameText(frame)), unheard);
    const first = batch.reply();
    const second = batch.reply();
    second.answer(['{"id":', '2}']);
    first.send(['{"progress":1}']);
    expect(written).toEqual(['{"progress":1}']);
    first.answer([Buffer.from('{"id":1}')]);
    expect(written[1]).toBe('[{"id":2},{"id":1}]');
  });

  it('leave without the one to a request that was cancelled, and not at all if all were', () => {
    const written: string[] = [];
    const newBatch = () => {
      const batch = new BatchReply(2, (frame) => written.push(frameText(frame)), unheard);
      return [batch.reply(), batch.reply()] as const;
    };
    const [answered, cancelled] = newBatch();
    answered.answer(['{"id":1}']);
    cancelled.withdrawn?.();
    for (const reply of newBatch()) reply.withdrawn?.();
    expect(written).toEqual(['[{"id":1}]']);
  });

  it('are counted while they are gathered', () => {
    let waiting = 0;
    const gathered = (bytes: number) => {
      waiting += bytes;
    };
    const batch = new BatchReply(2, () => {}, { gathered });
    const [first, second] = [batch.reply(), batch.reply()];
    first.answer(['{"id":', Buffer.from('1}')]);
    expect(waiting).toBe(8);
    second.withdrawn?.();
    expect(waiting).toBe(0);
  });

  it('are one for each request, whatever comes after it', () => {
    const written: string[] = [];
    const batch = new BatchReply(2, (frame) => written.push(frameText(frame)), unheard);
    const [first, second] = [batch.reply(), batch.reply()];
    first.answer(['{"id":1}']);
    first.withdrawn?.();
    first.answer(['{"id":1}']);
    expect(written).toEqual([]);
    second.answer(['{"id":2}']);
    expect(written).toEqual(['[{"id":1},{"id":2}]']);
  });

  it('are none if nothing was asked', () => {
    const written: string[] = [];
    new BatchReply(0, (frame) => written.push(frameText(frame)), unheard);
    expect(written).toEqual([]);
  });
});
