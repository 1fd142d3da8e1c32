// The short form of the servers' part of `npm run fuzz`.

import { describe, expect, it } from 'vitest';
import { Findings } from './findings.ts';
import { fuzzServers } from './servers.ts';
import { Tally } from './tally.ts';

const options = { seed: 20_261_116, seconds: 2, signal: new AbortController().signal };

describe('a server that says strange things', () => {
  it('causes no internal error, and it and another server are served #one-bad-neighbour', async () => {
    const [findings, tally] = [new Findings(), new Tally()];
    const said = await fuzzServers(options, findings, tally);
    expect(findings.lines).toEqual([]);
    expect(said).toBeGreaterThan(300);
  });
});
