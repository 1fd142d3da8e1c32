import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { FakeFront, note } from '../../../../test/support/fake-front.ts';
import { manualClock } from '../../../../test/support/manual-clock.ts';
import { Deadlines } from '../../../kernel/deadlines.ts';
import { cutBy, localUser, type Principal } from '../../../policy/principal.ts';
import { scanMessage } from '../../../wire/scan.ts';
import { OutgoingBudget } from '../../outgoing/outgoing-budget.ts';
import { defaultLimits, type HttpLimits } from '../http-limits.ts';
import { Sessions } from './sessions.ts';

const minute = 60_000;
const idle = 30 * minute;

function table(limits: Partial<HttpLimits> = {}) {
  const clock = manualClock();
  const front = new FakeFront();
  const reports: string[] = [];
  const sessions = new Sessions({
    front,
    clock,
    limits: { ...defaultLimits, ...limits },
    deadlines: new Deadlines(clock),
    outgoing: new OutgoingBudget(clock),
    report: (line) => reports.push(line),
    inform: () => {},
  });
  const open = () => {
    const session = sessions.open(localUser, 100);
    if (session === undefined) throw new Error('the table is full');
    return { session, core: front.session };
  };
  return { clock, front, sessions, reports, open };
}

/** Just enough of a response to be listened on. */
class FakeResponse extends EventEmitter {
  readonly closed = false;
  readonly writableLength = 0;
  writeHead(): void {}
  cork(): void {}
  uncork(): void {}
  flushHeaders(): void {}
  write(): void {}
  end(): void {}
}

describe('the table of sessions', () => {
  it('gives out ids that cannot be guessed', () => {
    const { open } = table();
    const ids = new Set(Array.from({ length: 100 }, () => open().session.id));
    expect(ids.size).toBe(100);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{24}$/);
  });

  it('finds a session only for the principal it was issued to', () => {
    const { sessions, open } = table();
    const { session } = open();
    expect(sessions.find(session.id, localUser)).toBe(session);
    expect(sessions.find(session.id, { id: 'token:a', role: null })).toBeUndefined();
    expect(sessions.find(session.id, { id: 'local', role: 'reader' })).toBeUndefined();
    expect(sessions.find(`${session.id}x`, localUser)).toBeUndefined();
  });

  it('ends a session that is not used for half an hour, and no other', () => {
    const { clock, sessions, open } = table();
    const [first, second] = [open(), open()];
    clock.advance(idle - 1);
    sessions.find(second.session.id, localUser);
    clock.advance(1);
    expect(first.core.isClosed).toBe(true);
    expect(second.core.isClosed).toBe(false);
    clock.advance(idle - 2);
    expect(second.core.isClosed).toBe(false);
    clock.advance(1);
    expect(second.core.isClosed).toBe(true);
    expect(sessions.size).toBe(0);
  });

  it('does not end a session that has work under way', () => {
    const { clock, open } = table();
    const { core } = open();
    core.inFlight = 1;
    clock.advance(10 * idle);
    expect(core.isClosed).toBe(false);
    core.inFlight = 0;
    clock.advance(idle);
    expect(core.isClosed).toBe(true);
  });

  it('counts the half hour from the end of the last stream', () => {
    const { clock, open } = table({ heartbeatMs: 100 * idle });
    const { session, core } = open();
    const res = new FakeResponse();
    session.listen(res as unknown as ServerResponse);
    clock.advance(idle - 1);
    expect(session.isBusy).toBe(true);
    res.emit('close');
    expect(session.isBusy).toBe(false);
    clock.advance(idle - 1);
    expect(core.isClosed).toBe(false);
    clock.advance(1);
    expect(core.isClosed).toBe(true);
  });

  it('needs one timer for any number of sessions, and none without one', () => {
    const { clock, sessions, open } = table();
    for (let n = 0; n < 1000; n += 1) {
      open();
      clock.advance(1);
    }
    expect(clock.pending).toBe(1);
    expect(clock.foreground).toBe(0);
    clock.advance(idle);
    expect(sessions.size).toBe(0);
    expect(clock.pending).toBe(0);
    open();
    sessions.closeAll();
    expect(clock.pending).toBe(0);
  });

  it('needs no second timer for sessions that stay in use', () => {
    const { clock, sessions, open } = table();
    const cores = [open(), open(), open()].map(({ core }) => core);
    for (const core of cores) core.inFlight = 1;
    for (let n = 0; n < 20; n += 1) {
      clock.advance(idle);
      expect(clock.pending).toBe(1);
    }
    for (const core of cores) core.inFlight = 0;
    clock.advance(idle);
    expect([sessions.size, clock.pending]).toEqual([0, 0]);
  });

  it('gives up the session idle longest when it is full', () => {
    const { sessions, reports, open } = table({ sessions: 3 });
    const [first, second, third] = [open(), open(), open()];
    sessions.find(first.session.id, localUser);
    open();
    expect(second.core.isClosed).toBe(true);
    expect(first.core.isClosed).toBe(false);
    expect(sessions.size).toBe(3);
    expect(reports).toHaveLength(1);
    third.core.inFlight = 1;
    open();
    expect(third.core.isClosed).toBe(false);
    expect(first.core.isClosed).toBe(true);
  });

  it('says so at once, and then once a minute, however many are given up #no-growth', () => {
    const { clock, reports, open } = table({ sessions: 3 });
    for (let n = 0; n < 503; n += 1) open();
    expect(reports).toHaveLength(1);
    clock.advance(minute);
    open();
    expect(reports).toHaveLength(2);
    expect(reports[1]).toContain('499 more since the line before');
  });

  it('opens no session when all of them are in use', () => {
    const { sessions, open } = table({ sessions: 2 });
    for (const { core } of [open(), open()]) core.inFlight = 1;
    expect(sessions.open(localUser, 100)).toBeUndefined();
    expect(sessions.size).toBe(2);
  });

  it('ends a session once, and says nothing in it afterwards', () => {
    const { sessions, open } = table();
    const { session, core } = open();
    sessions.drop(session);
    expect(core.isClosed).toBe(true);
    session.send(note('late'));
    expect(sessions.find(session.id, localUser)).toBeUndefined();
  });
});

describe('what clients say to set their sessions up', () => {
  const ann: Principal = { id: 'token:ann', role: 'r' };
  const bob: Principal = { id: 'token:bob', role: 'r' };

  /** Room for 8,000 bytes, of which one owner may have 6,000. */
  function small() {
    const made = table({ setupBytesOfAll: 8_000 });
    const openAs = (principal: Principal, bytes: number) => {
      const session = made.sessions.open(principal, bytes);
      return session && { session, core: made.front.session };
    };
    return { ...made, openAs };
  }

  const said = (method: string, params: object) =>
    scanMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })));
  const subscribe = (uri: string) => said('resources/subscribe', { uri });

  it('is bounded for each owner, over all its paths: its longest idle session ends #no-growth #principal-share', () => {
    const { sessions, openAs } = small();
    const other = openAs(bob, 1_000);
    const mine = [1, 2, 3].map((n) => openAs(cutBy(ann, { kind: 'server', name: `s${n}` }), 2_000));
    expect(mine.map((one) => one?.core.isClosed)).toEqual([false, false, false]);
    for (let more = 0; more < 50; more += 1) expect(openAs(ann, 2_000)).toBeDefined();
    expect(mine.map((one) => one?.core.isClosed)).toEqual([true, true, true]);
    expect(sessions.size).toBe(4);
    expect(other?.core.isClosed).toBe(false);
  });

  it('is bounded where all sessions of the owner are in use: it gets no further one #no-growth', () => {
    const { sessions, openAs } = small();
    for (const one of [openAs(ann, 3_000), openAs(ann, 3_000)]) if (one) one.core.inFlight = 1;
    expect(openAs(ann, 1)).toBeUndefined();
    expect(sessions.isWithinShare(ann, 1)).toBe(false);
    expect(openAs(bob, 2_000)).toBeDefined();
    expect(sessions.isWithinShare(bob, 2_000)).toBe(true);
  });

  it('is bounded for all together: who has said the most gives way #no-growth', () => {
    const { sessions, openAs } = small();
    const [large, mine] = [openAs(ann, 6_000), openAs(bob, 2_000)];
    expect(openAs(bob, 1_000)).toBeDefined();
    expect([large?.core.isClosed, mine?.core.isClosed]).toEqual([true, false]);
    expect(openAs(localUser, 7_000)).toBeDefined();
    expect([sessions.size, mine?.core.isClosed]).toEqual([2, true]);
  });

  it('counts what is said later, and no longer when the session has ended #no-growth', async () => {
    const { sessions, openAs } = small();
    const one = openAs(ann, 1_000)?.session;
    if (one === undefined) throw new Error('the table is full');
    const long = `x://${'a'.repeat(1_900)}`;
    for (const n of [1, 2]) {
      expect(sessions.setups.refusal(one, subscribe(`${long}${n}`))).toBeUndefined();
      await sessions.keep(one, subscribe(`${long}${n}`));
    }
    expect(sessions.setups.refusal(one, subscribe(`${long}3`))).toBeUndefined();
    await sessions.keep(one, said('initialize', { capabilities: { a: 'a'.repeat(1_000) } }));
    expect(sessions.setups.refusal(one, subscribe(`${long}3`))).toMatch(/end others first/);
    expect(
      sessions.setups.refusal(one, said('resources/unsubscribe', { uri: long })),
    ).toBeUndefined();
    expect(sessions.setups.refusal(one, said('tools/call', { name: long }))).toBeUndefined();
    await sessions.keep(one, said('resources/unsubscribe', { uri: `${long}1` }));
    expect(sessions.setups.refusal(one, subscribe(`${long}3`))).toBeUndefined();
    await sessions.end(one);
    expect(sessions.isWithinShare(ann, 6_000)).toBe(true);
  });
});
