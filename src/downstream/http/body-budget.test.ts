import { describe, expect, it } from 'vitest';
import { BodyBudget } from './body-budget.ts';

describe('the bytes of bodies that are being received', () => {
  it('are bounded for one owner, for all its bodies together #principal-share', () => {
    const budget = new BodyBudget(400);
    const bodies = Array.from({ length: 4 }, () => budget.open('greedy'));
    expect(bodies.map((body) => body.take(100))).toEqual([
      undefined,
      undefined,
      undefined,
      'owner',
    ]);
    expect(budget.open('modest').take(100)).toBeUndefined();
    expect([budget.open('third').take(1), budget.open(undefined).take(1)]).toEqual(['all', 'all']);
    bodies[0]?.end();
    bodies[0]?.end();
    expect([budget.bytes, bodies[3]?.take(100)]).toEqual([300, undefined]);
  });

  it('are always enough for one body, and count as they come', () => {
    const budget = new BodyBudget(400);
    const body = budget.open('greedy');
    expect(body.take(390)).toBeUndefined();
    expect([body.take(1), budget.bytes]).toEqual(['owner', 390]);
    body.end();
    expect(budget.bytes).toBe(0);
  });

  it('of the local user have no bound but the whole', () => {
    const budget = new BodyBudget(400);
    const body = budget.open(undefined);
    expect([body.take(200), body.take(200), body.take(1)]).toEqual([undefined, undefined, 'all']);
  });
});
