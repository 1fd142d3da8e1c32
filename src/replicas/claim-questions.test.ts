import { describe, expect, it } from 'vitest';
import { MemoryBusServer } from '../../test/support/memory-bus.ts';
import { ClaimQuestions } from './claim-questions.ts';

const secret = Buffer.alloc(32, 'secret');
const claim = 'c1a1';

function replicas() {
  const server = new MemoryBusServer();
  const replica = (id: string, with_ = secret) => {
    const bus = server.member();
    const questions = new ClaimQuestions({ bus, subjects: 'hfr.test', id, secret: with_ });
    return { bus, questions };
  };
  return { server, replica, one: replica('0001'), two: replica('0002') };
}

describe('questions about claims of keys', () => {
  it('are answered by the replica that has made the claim #shared-keys', async () => {
    const { one, two } = replicas();
    expect(await two.questions.ask('0001', claim)).toBe('none');
    for (const word of ['held', 'idle', 'none'] as const) {
      one.questions.answer((asked) => (asked === claim ? word : 'none'));
      expect(await two.questions.ask('0001', claim)).toBe(word);
    }
    one.bus.vanish();
    expect(await two.questions.ask('0001', claim)).toBe('gone');
    two.bus.lose();
    await expect(two.questions.ask('0001', claim)).rejects.toMatchObject({ reason: 'lost' });
  });

  it('are answered by nobody who has not the key of the replicas, or for another claim #shared-keys', async () => {
    const { two, replica } = replicas();
    const stranger = replica('0003', Buffer.alloc(32, 'other'));
    stranger.questions.answer(() => 'idle');
    await expect(two.questions.ask('0003', claim)).rejects.toMatchObject({ reason: 'lost' });
    expect(await two.questions.ask('not.a.replica', claim)).toBe('gone');
    expect(await two.questions.ask('0001', '>')).toBe('gone');
  });
});
