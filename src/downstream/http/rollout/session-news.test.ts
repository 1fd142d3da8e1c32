// What a former tells of legacy sessions: it arrives byte for byte, what is no message is told from one and ends the link,
// and what waits for its clients is bounded.

import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { playedLinks } from '../../../../test/support/played-links.ts';
import { until } from '../../../../test/support/until.ts';
import { followFormer } from './front-link.ts';
import { type HandedSession, HandedSessions } from './handed-sessions.ts';
import { read, type SessionNews, written } from './session-news.ts';

const ann = { id: 'token:ann', role: 'all' };

const handed = (id: string, bytes = 3, more: object = {}): HandedSession => ({
  ...{ id, principal: ann, setup: { initialize: '{}', subscriptions: [] } },
  ...{ from: 'aa', life: '0123abcd', made: 2, abandoned: ['p1'] },
  events: [
    { stream: 'p2', place: 1, kind: undefined, frame: ['é', Buffer.alloc(bytes, 0xff)] },
    { stream: undefined, place: 0, kind: 'tools', frame: ['{}'] },
  ],
  ...more,
});

const overLink = (news: SessionNews) => {
  const { head, payload } = written(news);
  return [JSON.parse(JSON.stringify(head)), payload] as const;
};

const textOf = ({ events }: Pick<HandedSession, 'events'>) =>
  events.map(({ frame }) =>
    Buffer.concat(frame.map((piece) => Buffer.from(piece))).toString('latin1'),
  );

describe('the news of a session', () => {
  it('arrive as they were sent #rollout', () => {
    const session = handed('s1');
    const news = read(...overLink({ kind: 'session', session }));
    if (news?.kind !== 'session') throw new Error('another kind');
    expect(news.session).toMatchObject({ ...session, events: [{ place: 1 }, { kind: 'tools' }] });
    expect(textOf(news.session)).toEqual(textOf(session));
    const { events } = session;
    const sent = read(...overLink({ kind: 'sent', id: 's1', events }));
    if (sent?.kind !== 'sent') throw new Error('another kind');
    expect(textOf(sent)).toEqual(textOf(session));
    expect(read(...overLink({ kind: 'ended', id: 's1' }))).toEqual({ kind: 'ended', id: 's1' });
  });

  it('are refused whole if a part of them is wrong #rollout', () => {
    const [head, payload] = overLink({ kind: 'session', session: handed('s1') });
    const wrong = (more: object) =>
      read({ ...head, session: { ...head.session, ...more } }, payload);
    expect(wrong({})).toBeDefined();
    for (const more of [
      { id: 7 },
      { life: '../' },
      { made: -1 },
      { abandoned: [1] },
      { from: 1 },
      { setup: {} },
      { principal: { id: 'x' } },
      { events: [] },
      { events: [['p2', 1, null, 1e9]] },
      { events: [[1, 1, null, 1]] },
    ]) {
      expect(wrong(more), JSON.stringify(more)).toBeUndefined();
    }
    expect(read(null, payload)).toBeUndefined();
    expect(read({ kind: 'other' }, payload)).toBeUndefined();
  });

  it('end the link if they cannot be read #rollout', async () => {
    const [older, newer] = playedLinks();
    const heard: unknown[] = [];
    const heardOfSessions = (news: unknown) => heard.push(news) < 2;
    followFormer(newer, { heardOfSessions });
    older.send('http', { number: 1, news: 'good' });
    older.send('http', { number: 2, news: 'bad' });
    await until(() => !older.isOpen, 'the end of the link');
    expect(heard).toEqual(['good', 'bad']);
  });
});

describe('sessions that wait for their clients', () => {
  const waiting = (limits: object = {}) => {
    const clock = new ManualClock();
    const parts = { clock, maxSessions: 3, maxBytes: 10_000, keepMs: 1_000, ...limits };
    return { clock, sessions: new HandedSessions(parts) };
  };

  it('are no more than may be open, and keep no more bytes than they may #no-growth #rollout', () => {
    const { sessions } = waiting();
    for (let at = 0; at < 5; at += 1) sessions.add(handed(`s${at}`));
    expect(sessions.size).toBe(3);
    sessions.add(handed('large', 9_000));
    expect(sessions.find('s3', ann as never)?.events).toEqual([]);
    expect(sessions.find('large', ann as never)?.events).toHaveLength(2);
  });

  it('are forgotten with their time, and found only with the same rights #rollout', () => {
    const { sessions, clock } = waiting();
    sessions.add(handed('old'));
    clock.advance(600);
    sessions.add(handed('new'));
    expect(sessions.find('old', { ...ann, role: 'other' } as never)).toBeUndefined();
    expect(sessions.find('old', ann as never)).toBeDefined();
    clock.advance(500);
    expect(sessions.find('old', ann as never)).toBeUndefined();
    expect(sessions.find('new', ann as never)).toBeDefined();
    sessions.endAccess(new Set(['token:ann']));
    expect(sessions.size).toBe(0);
  });

  it('keep what was sent or ended since, in the order in which it came #rollout', () => {
    const { sessions } = waiting();
    sessions.add(handed('s'));
    const late = { stream: 'p3', place: 1, kind: undefined, frame: ['late'] } as const;
    expect(sessions.addEvents('s', [late])).toBe(true);
    expect(sessions.addEvents('other', [late])).toBe(false);
    sessions.add(handed('s', 1, { events: [] }));
    expect(sessions.find('s', ann as never)?.events.map(({ stream }) => stream)).toEqual([
      'p2',
      undefined,
      'p3',
    ]);
  });
});
