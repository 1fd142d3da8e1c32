import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { CallDeadline } from './call-deadline.ts';

const params = Buffer.from('{"progress":1}');

function newPatience(callTimeoutMs = 60_000, maxCallMs = 600_000) {
  const clock = manualClock(123);
  const heard: Buffer[] = [];
  let expired = 0;
  const deadline = new CallDeadline(clock, callTimeoutMs, maxCallMs, {
    expired: () => {
      expired += 1;
    },
    progressed: (progress) => heard.push(progress),
  });
  return { clock, deadline, heard, expired: () => expired };
}

describe('how long a call may take', () => {
  it('is counted from its first dispatch, not from its wait before', () => {
    const { clock, deadline, expired } = newPatience();
    clock.advance(1_000_000);
    expect([expired(), clock.pending]).toEqual([0, 0]);
    deadline.begin();
    clock.advance(59_999);
    expect(expired()).toBe(0);
    clock.advance(1);
    expect(expired()).toBe(1);
  });

  it('is counted over all its attempts: a second dispatch changes nothing', () => {
    const { clock, deadline, expired } = newPatience();
    deadline.begin();
    clock.advance(50_000);
    deadline.begin();
    expect(clock.pending).toBe(1);
    clock.advance(10_000);
    expect(expired()).toBe(1);
  });

  it('is extended by progress, which is handed on', () => {
    const { clock, deadline, expired, heard } = newPatience();
    deadline.begin();
    clock.advance(40_000);
    deadline.progressed(params);
    clock.advance(59_999);
    expect([expired(), heard]).toEqual([0, [params]]);
    clock.advance(1);
    expect(expired()).toBe(1);
  });

  it('has an absolute end, however much progress there is', () => {
    const { clock, deadline, expired } = newPatience(60_000, 150_000);
    deadline.begin();
    for (let tenth = 0; tenth < 14; tenth++) {
      clock.advance(10_000);
      deadline.progressed(params);
    }
    clock.advance(9_999);
    expect(expired()).toBe(0);
    clock.advance(1);
    expect(expired()).toBe(1);
  });

  it('fires once, on one timer', () => {
    const { clock, deadline, expired } = newPatience();
    deadline.begin();
    for (let second = 0; second < 50; second++) {
      clock.advance(1_000);
      deadline.progressed(params);
      expect(clock.pending).toBe(1);
    }
    clock.advance(1_000_000);
    deadline.begin();
    clock.advance(1_000_000);
    expect(expired()).toBe(1);
  });

  it('matters no more once the call has ended', () => {
    const { clock, deadline, expired } = newPatience();
    deadline.begin();
    deadline.end();
    expect(clock.pending).toBe(0);
    deadline.begin();
    clock.advance(1_000_000);
    expect(expired()).toBe(0);
  });

  it('does not run while the client is waited for, but ends at the absolute end all the same', () => {
    const { clock, deadline, expired } = newPatience(60_000, 200_000);
    deadline.begin();
    deadline.hold();
    clock.advance(150_000);
    expect(expired()).toBe(0);
    deadline.release();
    clock.advance(49_999);
    expect(expired()).toBe(0);
    clock.advance(1);
    expect(expired()).toBe(1);
  });

  it('begins anew when the client has answered', () => {
    const { clock, deadline, expired } = newPatience();
    deadline.begin();
    deadline.hold();
    clock.advance(90_000);
    deadline.release();
    clock.advance(59_999);
    expect(expired()).toBe(0);
    clock.advance(1);
    expect(expired()).toBe(1);
  });
});
