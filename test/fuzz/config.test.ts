// The short form of the config's part of `npm run fuzz`.

import { expect, it } from 'vitest';
import { ConfigFolder } from './config-check.ts';
import { configText } from './config-texts.ts';
import { Findings } from './findings.ts';
import { fuzzFor } from './rounds.ts';
import { Tally } from './tally.ts';

it('a strange config file is taken, or refused in lines that name the place and show no secret #config', async () => {
  using folder = new ConfigFolder();
  const [findings, tally] = [new Findings(), new Tally()];
  const options = { seed: 20_261_116, seconds: 1.5, signal: new AbortController().signal };
  await fuzzFor(
    { parser: 'config', make: configText, check: folder.check },
    options,
    findings,
    tally,
  );
  expect(findings.lines).toEqual([]);
  for (const outcome of ['holdfast.json taken', 'holdfast.json refused', 'mcp.json taken']) {
    expect(tally.of(outcome), outcome).toBeGreaterThan(0);
  }
});
