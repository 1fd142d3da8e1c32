// The short form of `npm run chaos`: a few seconds of it, once, and what must be nothing is nothing.
// Sizes, speed and what is held at rest before and after (descriptors, memory) are judged by the command alone.

import { beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../proof/report.ts';
import { buildFolder as build } from '../support/build.ts';
import { runChaos } from './chaos.ts';

const seed = Number(process.env['CHAOS_SEED'] ?? 20);
let report: Report;

describe('eight seconds of chaos', () => {
  beforeAll(async () => {
    report = await runChaos({
      seconds: 8,
      seed,
      build,
      isKept: false,
      isCompared: false,
      hasNeighbours: false,
      say: (line) => console.log(line),
    });
  }, 120_000);

  it('lose no call and answer none twice #one-answer', () => {
    expect(figure('lost: calls that never got an answer')).toBe(0);
    expect(figure('answers beyond the first, or to ids never asked')).toBe(0);
  });

  it('run no call twice that is not safe to repeat #never-twice', () => {
    expect(figure('duplicated effects of tools that are not safe')).toBe(0);
  });

  it('give no caller the answer of another #right-answer #own-answers-only', () => {
    expect(figure('wrong answers')).toBe(0);
    expect(figure('calls that arrived at another server or tool')).toBe(0);
  });

  it('tell no caller the roots of another #own-roots', () => {
    expect(figure('roots: answers that name those of their client')).toBeGreaterThan(0);
    expect(figure('answers that name the roots of another client')).toBe(0);
    expect(figure('answers without the roots that their client had told')).toBe(0);
  });

  it('report correctly what was sent #true-dispatched', () => {
    expect(figure('wrong dispatched (1): no, but it had left')).toBe(0);
    expect(figure('wrong dispatched (2): yes, but never received')).toBe(0);
    expect(figure('wrong dispatched (3): maybe, but it never left our queue')).toBe(0);
  });

  it('tell no principal anything that was made for another, or by what it may not use #own-answers-only #path-takes-away', () => {
    expect(figure('roles: marks of principals read')).toBeGreaterThan(0);
    expect(figure('roles: marks of tools read')).toBeGreaterThan(0);
    expect(
      figure('foreign bytes: told to a principal, made for another or by what it may not use'),
    ).toBe(0);
  });

  it('run no call that its role did not allow, and refuse none that it did #roles-deny #policy-at-once', () => {
    expect(figure('roles: calls that were not allowed')).toBeGreaterThan(0);
    expect(figure('roles: calls that were allowed, with a result')).toBeGreaterThan(0);
    expect(figure('roles: editions of the config')).toBeGreaterThan(2);
    expect(figure('denied calls that ran')).toBe(0);
    expect(figure('calls that were refused though allowed all the time')).toBe(0);
  });

  it('leave a token nothing that is known to be revoked: no call, no stream #revoked', () => {
    expect(figure('roles: tokens revoked')).toBeGreaterThan(0);
    expect(figure('roles: streams that stayed open')).toBeGreaterThan(0);
    expect(figure('roles: calls with a token that was revoked')).toBeGreaterThan(0);
    expect(figure('calls and streams of a token that is known to be revoked')).toBe(0);
  });

  it('run each key once and answer it as before, also over kills of the instance #idempotency-key', () => {
    expect(figure('runs of one idempotency key beyond the first')).toBe(0);
    expect(figure('keys that were not answered as before')).toBe(0);
  });

  it('let the windows go on when their instance ends #one-instance', () => {
    expect(figure('calls lost with an instance that nobody had ended')).toBe(0);
    expect(figure('ends of the instance under its windows')).toBeGreaterThan(0);
  });

  it('cost no call and no request when a gateway is rolled over, whatever is under way #rollout', () => {
    expect(figure('rollouts')).toBeGreaterThan(0);
    expect(figure('rollouts that have taken over')).toBeGreaterThan(0);
    expect(figure('rollouts: calls that were under way over one')).toBeGreaterThan(0);
    expect(figure('calls that a rollout has cost')).toBe(0);
  });

  it('go on when a serving process, a successor or a pid-holder is killed, in a rollout or not #pid-holder #rollout', () => {
    expect(figure('kills of a serving process')).toBeGreaterThan(0);
    expect(figure('kills of a successor')).toBeGreaterThan(0);
    expect(figure('kills of a pid-holder in a rollout')).toBeGreaterThan(0);
  });

  it('give nothing of a budget again, and lose nothing of it, over rollouts and kills #budgets-kept', () => {
    expect(figure('budgets: calls that were charged')).toBeGreaterThan(0);
    expect(figure('calls beyond a budget')).toBe(0);
    expect(figure('calls that a budget refused too early')).toBe(0);
  });

  it('let the workers go on when their broker, their orchestrator or a worker is killed #broker-once', () => {
    expect(figure('kills of a broker or its orchestrator')).toBeGreaterThan(0);
  });

  it('cost a server that nobody changed neither a call nor its process when the config is edited #live-config #generations', () => {
    expect(figure('calls or processes of servers that nobody changed, lost')).toBe(0);
    expect(figure('calls to servers that nobody changed')).toBeGreaterThan(0);
  });

  it('leave no process behind, living or dead #no-orphans', () => {
    expect(figure('orphans')).toBe(0);
    expect(figure('zombies')).toBe(0);
  });

  it('end in no fault of our own', () => {
    expect(figure('defects of our own (internal)')).toBe(0);
  });

  it('cause no internal error, not even a contained one #one-bad-neighbour', () => {
    expect(figure('contained defects of our own (events)')).toBe(0);
    expect(figure('contained defects of our own (status)')).toBe(0);
  });

  it('have really been chaos', () => {
    expect(figure('faults')).toBeGreaterThan(13);
    expect(figure('kinds of faults')).toBeGreaterThanOrEqual(8);
    expect(report.findings.filter((finding) => !isAboutCoverage(finding))).toEqual([]);
  });
});

/** Whether a run met everything that it could is asked of the long form: this one may be too short. */
function isAboutCoverage(finding: string): boolean {
  return finding.startsWith('[evidence] no answer ');
}

function figure(name: string): number {
  const found = report.figures.find((one) => one.name === name);
  if (typeof found?.value !== 'number') throw new Error(`there is no figure "${name}"`);
  return found.value;
}
