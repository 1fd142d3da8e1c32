// The short form of the gateway's part of `npm run fuzz`: the HTTP edge, and standard input.

import { describe, expect, it } from 'vitest';
import { buildFolder as build } from '../support/build.ts';
import { Findings } from './findings.ts';
import { fuzzHttp } from './http.ts';
import { fuzzStdio } from './stdio.ts';
import { Tally } from './tally.ts';

const options = { build, seed: 20_261_116, seconds: 2, signal: new AbortController().signal };

describe('a gateway under strange requests', () => {
  it('answers every one once and as it should, lets none through that is wrong, and keeps serving others #http-edge #bad-input', async () => {
    const [findings, tally] = [new Findings(), new Tally()];
    const { requests, descriptorGrowth } = await fuzzHttp(options, findings, tally);
    expect(findings.lines).toEqual([]);
    expect(descriptorGrowth).toBeLessThanOrEqual(5);
    expect(requests).toBeGreaterThan(300);
  });

  it('answers strange lines on its standard input one by one #bad-input #stdio-session', async () => {
    const [findings, tally] = [new Findings(), new Tally()];
    const lines = await fuzzStdio(options, findings, tally);
    expect(findings.lines).toEqual([]);
    expect(lines).toBeGreaterThan(0);
    expect(tally.of('due: refusal')).toBeGreaterThan(0);
    expect(tally.of('due: answer')).toBeGreaterThan(0);
  });
});
