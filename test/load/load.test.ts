// The short form of `npm run load`: the same clients with fewer answers, and fewer clients that never
// close their session. Only the command judges what they cost in memory and time.

import { describe, expect, it } from 'vitest';
import { clients, crowd } from './crowd.ts';
import { abandonedSessions } from './sessions.ts';

const responses = 10_000;
const sessions = 500;

describe(`${clients} clients with the same ids and progress tokens`, () => {
  it(`get no foreign byte in ${responses} responses #right-answer #own-answers-only`, async () => {
    const seen = await crowd(responses);
    expect(seen.progress).toBeGreaterThan(responses / 32);
    expect(seen).toMatchObject({ failed: 0, left: 0 });
  });
});

describe('clients that never close their session', () => {
  it('are forgotten when their time is over #sessions #gone-client', async () => {
    const seen = await abandonedSessions(sessions);
    const { tried } = seen;
    expect(seen).toMatchObject({ sessions, knownThen: tried, knownAfterwards: 0 });
    expect(seen.exit).toEqual({ code: 0, stderr: '' });
  });
});
