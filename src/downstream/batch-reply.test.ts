import { describe, expect, it } from 'vitest';
import { frameText } from '../../test/support/fake-gateway.ts';
import { BatchReply } from './batch-reply.ts';

describe('the answers to a batch', () => {
  it('leave as one array when the last is there; what comes before leaves at once', () => {
    const written: string[] = [];
    const batch = new BatchReply(2, (frame) => written.push(frameText(frame)));
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
      const batch = new BatchReply(2, (frame) => written.push(frameText(frame)));
      return [batch.reply(), batch.reply()] as const;
    };
    const [answered, cancelled] = newBatch();
    answered.answer(['{"id":1}']);
    cancelled.withdrawn?.();
    for (const reply of newBatch()) reply.withdrawn?.();
    expect(written).toEqual(['[{"id":1}]']);
  });

  it('are none if nothing was asked', () => {
    const written: string[] = [];
    new BatchReply(0, (frame) => written.push(frameText(frame)));
    expect(written).toEqual([]);
  });
});
