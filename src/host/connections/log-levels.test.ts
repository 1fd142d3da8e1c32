import { describe, expect, it } from 'vitest';
import { FakeUpstream } from '../../../test/support/fake-upstream.ts';
import { isHeard } from './log-level.ts';
import { LogLevels } from './log-levels.ts';

describe('the level of a legacy server', () => {
  it('is the most verbose that any client asked for, sent once', () => {
    const levels = new LogLevels();
    const connection = new FakeUpstream('legacy', { logging: {} });
    for (const level of ['warning', 'error', 'warning', 'info', 'notice', 'debug', 'info']) {
      void levels.want(connection, level);
    }
    expect(connection.requests.map(({ members }) => members)).toEqual([
      '"level":"warning"',
      '"level":"info"',
      '"level":"debug"',
    ]);
  });

  it('is sent to every new connection that supports logging', () => {
    const levels = new LogLevels();
    const [one, two, mute] = [
      new FakeUpstream('legacy', { logging: {} }),
      new FakeUpstream('legacy', { logging: {} }),
      new FakeUpstream(),
    ];
    for (const connection of [one, two, mute]) void levels.want(connection, 'info');
    expect([one.methods, two.methods, mute.methods]).toEqual([
      ['logging/setLevel'],
      ['logging/setLevel'],
      [],
    ]);
  });

  it('may be refused without effect', async () => {
    const connection = new FakeUpstream('legacy', { logging: {} });
    void new LogLevels().want(connection, 'info');
    connection.lose();
    await expect(connection.requests[0]?.exchange.answer).rejects.toThrow();
  });
});

describe('a log line', () => {
  it.each([
    ['error', 'warning', true],
    ['warning', 'warning', true],
    ['info', 'warning', false],
    ['strange', 'emergency', true],
    [undefined, 'emergency', true],
    ['debug', 'strange', true],
  ])('of level %s is heard by one who asked for %s: %s', (level, from, isSo) => {
    expect(isHeard(level, from)).toBe(isSo);
  });
});
