// What `holdfast rollout` prints of one that was done.

import { describe, expect, it } from 'vitest';
import { rolloutLines } from './rollout.ts';

const done = {
  ...{ from: '1.0.0', to: '1.1.0', holder: 42, tookMs: 1_234, pauseMs: 9 },
  ...{ servers: 1, sessions: 2, left: ['one stream of the 2024 transport'] },
};

describe('a rollout that was done', () => {
  it('is told with its versions, its time and what went along', () => {
    expect(rolloutLines(done)).toEqual([
      'holdfast 1.1.0 instead of 1.0.0 serves under process 42, after 1.2 s; 9 ms of them without beginning new work',
      '1 server and 2 sessions went along',
      'not carried over: one stream of the 2024 transport',
    ]);
  });

  it('may lead to the same version', () => {
    const [first] = rolloutLines({ ...done, to: '1.0.0' });
    expect(first).toContain('holdfast 1.0.0, started anew, serves');
  });
});
