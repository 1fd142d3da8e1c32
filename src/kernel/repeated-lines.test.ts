import { describe, expect, it } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { RepeatedLines } from './repeated-lines.ts';

function world() {
  const clock = manualClock();
  const lines: string[] = [];
  return { clock, lines, said: new RepeatedLines(clock, (line) => void lines.push(line)) };
}

describe('lines that repeat', () => {
  it('are told once a minute, with how many there were between #no-growth', () => {
    const { clock, lines, said } = world();
    for (let second = 0; second < 125; second += 1) {
      said.say('full');
      said.say('full');
      clock.advance(1_000);
    }
    const more = '(and 119 times since the line before)';
    expect(lines).toEqual(['full', `full ${more}`, `full ${more}`]);
  });

  it('do not hide others, and after a pause are told as at first', () => {
    const { clock, lines, said } = world();
    for (const line of ['a', 'b', 'a']) said.say(line);
    expect(lines).toEqual(['a', 'b']);
    clock.advance(60_000);
    said.say('b');
    expect(lines).toEqual(['a', 'b', 'b']);
  });

  it('are forgotten where there are too many different ones #no-growth', () => {
    const { lines, said } = world();
    for (let number = 0; number < 65; number += 1) said.say(`line ${number}`);
    said.say('line 64');
    said.say('line 0');
    expect(lines).toHaveLength(66);
  });
});
