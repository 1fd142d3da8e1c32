// When the store on NATS connects, waits and reports.

import { describe, expect, it } from 'vitest';
import {
  type ConnectionEvent,
  type ConnectionState,
  connectionStep,
  firstState,
  usualPolicy,
} from './connection-machine.ts';

const away = { problem: 'it is away', isPermanent: false };
const refused = { problem: 'the password is wrong', isPermanent: true };
const failed = (trouble = away, random = 0, at = 0): ConnectionEvent => ({
  kind: 'failed',
  trouble,
  random,
  at,
});

function run(...events: readonly ConnectionEvent[]) {
  let state: ConnectionState = firstState;
  const effects = [];
  for (const event of events) {
    const [next, more] = connectionStep(state, event, usualPolicy);
    state = next;
    effects.push(...more);
  }
  return { state, effects };
}

const due = { kind: 'due' } as const;
const opened = { kind: 'opened', at: 0 } as const;

describe('the connection of a store to NATS', () => {
  it('is tried again after delays that grow up to a maximum #store-nats', () => {
    const many = Array.from({ length: 10 }, () => [failed(), due]).flat();
    const waits = run(...many).effects.flatMap((effect) =>
      effect.kind === 'wait' ? effect.ms : [],
    );
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000, 5000, 5000, 5000]);
  });

  it('has jitter, so that replicas do not come back at once', () => {
    expect(run(failed(away, 0.5)).effects).toContainEqual({ kind: 'wait', ms: 225 });
  });

  it('reports each trouble once, and its end', () => {
    const otherwise = { ...away, problem: 'it is away in other words' };
    const { effects } = run(failed(), due, failed(otherwise), due, failed(refused), due, opened);
    expect(effects.filter(({ kind }) => kind === 'report' || kind === 'recovered')).toEqual([
      { kind: 'report', problem: away.problem },
      { kind: 'report', problem: refused.problem },
      { kind: 'recovered' },
    ]);
  });

  it('is asked for rarely where somebody has to change something first', () => {
    expect(run(failed(refused)).effects).toContainEqual({ kind: 'wait', ms: 30_000 });
  });

  it('begins with short delays after it was up for a while', () => {
    const lost = failed(away, 0, usualPolicy.steadyMs);
    const { effects, state } = run(failed(), due, failed(), due, opened, lost);
    expect(effects.at(-1)).toEqual({ kind: 'wait', ms: 250 });
    expect(state).toMatchObject({ kind: 'waiting', failures: 1 });
  });

  it('is not tried more and more often where it is lost as soon as it is up #store-nats', () => {
    const flaps = Array.from({ length: 6 }, () => [opened, failed(), due]).flat();
    const waits = run(...flaps).effects.flatMap((effect) =>
      effect.kind === 'wait' ? effect.ms : [],
    );
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 5000]);
  });

  it('does nothing more when it is closed', () => {
    const { effects, state } = run({ kind: 'close' }, failed(), due, opened);
    expect([effects, state]).toEqual([[], { kind: 'closed' }]);
  });

  it('ignores an end that is told twice, and a delay that is over by then', () => {
    expect(run(failed(), failed()).effects.filter(({ kind }) => kind === 'wait')).toHaveLength(1);
    expect(run(opened, due).state).toMatchObject({ kind: 'up' });
  });
});
