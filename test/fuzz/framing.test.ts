// The short form of the framing's part of `npm run fuzz`.

import { describe, expect, it } from 'vitest';
import { checkEvents, eventStream } from './events.ts';
import { Findings } from './findings.ts';
import { checkLines, lineStream } from './lines.ts';
import { fuzzFor } from './rounds.ts';
import { Tally } from './tally.ts';

const options = { seed: 20_261_116, seconds: 1, signal: new AbortController().signal };

describe('a stream of strange bytes', () => {
  it('is cut into the same lines in any chunks, and after a line beyond the limit the next is right again #frame-limit', async () => {
    const [findings, tally] = [new Findings(), new Tally()];
    await fuzzFor(
      { parser: 'lines', make: lineStream, check: checkLines },
      options,
      findings,
      tally,
    );
    expect(findings.lines).toEqual([]);
    expect(tally.of('line')).toBeGreaterThan(0);
    expect(tally.of('oversized-end')).toBeGreaterThan(0);
  });

  it('is read as the events that the HTML standard finds in it, in any chunks #byte-exact', async () => {
    const [findings, tally] = [new Findings(), new Tally()];
    await fuzzFor(
      { parser: 'events', make: eventStream, check: checkEvents },
      options,
      findings,
      tally,
    );
    expect(findings.lines).toEqual([]);
    expect(tally.of('event')).toBeGreaterThan(0);
    expect(tally.of('event beyond the limit')).toBeGreaterThan(0);
  });
});
