// What a serving process hears of its holder: also what the holder has told before anybody here listened.

import { describe, expect, it } from 'vitest';
import { holderVariable } from './holder/holder-variable.ts';
import { introductionText } from './holder/messages.ts';
import { type Channel, holderOf } from './holder-client.ts';

function started() {
  let say: (message: unknown) => void = () => {};
  const introduction = { ordinal: 2, instance: '0123456789abcdef', role: 'successor' } as const;
  const channel = {
    env: { [holderVariable]: introductionText(introduction) },
    ...{ pid: 2, ppid: 1, kill: () => true, send: () => true },
    on: (event: string, heard: (message: unknown) => void) => {
      if (event === 'message') say = heard;
    },
  } as unknown as Channel;
  const holder = holderOf(channel);
  if (holder === undefined) throw new Error('no holder has started it');
  return { holder, say: (message: unknown) => say(message) };
}

describe('a serving process', () => {
  it('knows how many former processes there are, though that was told before it listened #rollout', () => {
    const { holder, say } = started();
    const heard: number[] = [];
    say({ op: 'formers', count: 3 });
    say({ op: 'formers', count: 4 });
    holder.listen({ formers: (count) => heard.push(count) });
    expect(heard).toEqual([4]);
    say({ op: 'formers', count: 3 });
    expect(heard).toEqual([4, 3]);
  });
});
