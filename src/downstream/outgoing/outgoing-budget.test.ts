import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import {
  OutgoingBudget,
  type OutgoingPolicy,
  spent,
  writeOverheadBytes,
} from './outgoing-budget.ts';

const policy: OutgoingPolicy = {
  ...{ maxBytes: 100_000, slowBytes: 50_000 },
  ...{ patienceMs: 1000, paceBytes: 1000 },
};

/** A connection whose client takes what the test says. */
class Connection {
  waitingBytes = 0;
  isGivenUp = false;
  giveUp(): void {
    this.isGivenUp = true;
  }
}

function budgetOf(maxBytes = policy.maxBytes) {
  const clock = manualClock();
  const reports: string[] = [];
  const slowBytes = maxBytes / 2;
  const report = (line: string) => reports.push(line);
  const budget = new OutgoingBudget(clock, report, { ...policy, maxBytes, slowBytes });
  const connect = () => {
    const connection = new Connection();
    const share = budget.share(connection);
    const write = (bytes: number, takes = 0) => {
      connection.waitingBytes += bytes - takes;
      share.wrote(bytes);
    };
    return { connection, share, write };
  };
  return { clock, budget, reports, connect };
}

describe('who has spent its share', () => {
  const at = (bytes: number, slowSince: number) => ({ bytes, slowSince });

  it('is none as long as everything fits', () => {
    expect(spent([at(60_000, 9000), at(40_000, 0)], 0, policy, 9000)).toEqual([]);
  });

  it('is the largest of those that take nothing, when they have half of the whole among them', () => {
    const [reader, small, large] = [at(40_000, 9000), at(20_000, 0), at(31_000, 0)];
    expect(spent([reader, small, large], 0, policy, 9000)).toEqual([large]);
  });

  it('is who takes nothing before anybody who reads', () => {
    const [reader, small, large] = [at(70_000, 9000), at(10_000, 0), at(30_000, 0)];
    expect(spent([reader, small, large], 0, policy, 9000)).toEqual([large]);
    expect(spent([reader, small, large], 40_000, policy, 9000)).toEqual([large, small, reader]);
  });

  it('leaves what fits, and closes no connection without need', () => {
    const share = fc.record({ bytes: fc.nat(50_000), slowSince: fc.nat(2000) });
    fc.assert(
      fc.property(fc.array(share), fc.nat(50_000), (shares, others) => {
        const chosen = spent(shares, others, policy, 2000);
        const total = shares.reduce((sum, { bytes }) => sum + bytes, others);
        const gone = chosen.reduce((sum, { bytes }) => sum + bytes, 0);
        expect(total - gone).toBeLessThanOrEqual(policy.maxBytes);
        const isSlow = ({ slowSince }: { slowSince: number }) => slowSince <= 1000;
        const slow = shares.filter(isSlow).reduce((sum, { bytes }) => sum + bytes, 0);
        if (total <= policy.maxBytes && slow <= policy.slowBytes) expect(chosen).toEqual([]);
        const left = shares.filter((share) => !chosen.includes(share));
        const leftSlow = left.filter(isSlow).reduce((sum, { bytes }) => sum + bytes, 0);
        expect(leftSlow).toBeLessThanOrEqual(policy.slowBytes);
        // Nobody who reads is closed while somebody is there who does not.
        if (chosen.some((share) => !isSlow(share))) expect(left.some(isSlow)).toBe(false);
      }),
    );
  });
});

describe('the budget of what waits for clients', () => {
  it('costs nothing to a client that reads', () => {
    const { budget, connect } = budgetOf();
    const { connection, write } = connect();
    for (let n = 0; n < 1000; n += 1) write(1000, 1000);
    expect([budget.bytes, connection.isGivenUp]).toEqual([0, false]);
  });

  it('counts what each write takes beside its bytes', () => {
    const { budget, connect } = budgetOf();
    const { write } = connect();
    for (let n = 0; n < 100; n += 1) write(10);
    expect(budget.bytes).toBe(100 * (10 + writeOverheadBytes));
  });

  it('bounds the whole, however many connections share it', () => {
    const { clock, budget, connect, reports } = budgetOf();
    const all = Array.from({ length: 50 }, connect);
    for (let n = 0; n < 20; n += 1) {
      for (const { write, connection } of all) if (!connection.isGivenUp) write(1000);
      clock.advance(500);
      expect(budget.bytes).toBeLessThanOrEqual(policy.maxBytes);
    }
    expect(budget.closed).toBeGreaterThan(0);
    expect(reports[0]).toContain('a connection was closed');
  });

  it('closes who takes nothing, not who reads', () => {
    const { clock, connect } = budgetOf();
    const [stuck, reader] = [connect(), connect()];
    stuck.write(30_000);
    clock.advance(2000);
    reader.write(60_000);
    // The reader takes nearly all of it, and is given more at once.
    for (let n = 0; n < 10; n += 1) {
      clock.advance(900);
      reader.connection.waitingBytes = 5000;
      reader.write(70_000);
    }
    expect([stuck.connection.isGivenUp, reader.connection.isGivenUp]).toEqual([true, false]);
  });

  it('looks again before it closes anybody: what was taken meanwhile does not count', () => {
    const { clock, budget, connect } = budgetOf();
    const [one, other] = [connect(), connect()];
    one.write(90_000);
    clock.advance(5000);
    one.connection.waitingBytes = 0;
    other.write(90_000);
    expect([one.connection.isGivenUp, other.connection.isGivenUp]).toEqual([false, false]);
    expect(budget.bytes).toBe(90_000 + writeOverheadBytes);
  });

  it('has what is kept for later given up first', () => {
    const { budget, connect } = budgetOf();
    let kept = 50_000;
    budget.addSavings({
      get bytes() {
        return kept;
      },
      giveUp: (bytes) => {
        kept = Math.max(0, kept - bytes);
      },
    });
    const { connection, write } = connect();
    write(90_000);
    expect([connection.isGivenUp, kept > 0, kept < 50_000]).toEqual([false, true, true]);
    expect(budget.bytes).toBeLessThanOrEqual(policy.maxBytes);
  });

  it('forgets a connection that has ended', () => {
    const { budget, connect } = budgetOf();
    const { share, write } = connect();
    write(1000);
    share.end();
    write(1000);
    expect(budget.bytes).toBe(0);
  });
});
