// The short form of the scanner's part of `npm run fuzz`.

import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { documentAt } from './documents.ts';
import { listedRefusals } from './listed-refusals.ts';
import { minimised } from './minimise.ts';
import { checkPart, type PartOutcome } from './scanner.ts';
import { Tally } from './tally.ts';

const seed = 20_261_116;

describe('the scanner, over 20,000 generated and mutated documents', () => {
  let outcome: PartOutcome;

  beforeAll(() => {
    outcome = checkPart({ seed, from: 0, to: 20_000 });
  });

  it('accepts what fatal UTF-8 decoding and JSON.parse accept, but for the listed refusals, and finds every part where it stands #one-message #byte-exact', () => {
    expect(outcome.wrong).toEqual([]);
  });

  it('has met every refusal there is, and enough that is none', () => {
    const tally = new Tally();
    tally.add(outcome.counts);
    // Two keys that look alike are refused where one of them is decided on, not by the scanner.
    const unmet = Object.keys(listedRefusals).filter(
      (reason) => reason !== 'look-alike-key' && tally.sum(`refused: ${reason}`) === 0,
    );
    expect(unmet).toEqual([]);
    expect(tally.sum('message: ')).toBeGreaterThan(5_000);
    expect(tally.of('JSON')).toBeGreaterThan(10_000);
  });
});

describe('the list of refusals', () => {
  it('is the one in docs/envelope.md, sentence by sentence', () => {
    const page = readFileSync(new URL('../../docs/envelope.md', import.meta.url), 'utf8');
    const rows = [...page.matchAll(/^\| `([a-z0-9-]+)` +\| (-32[67]00) +\| (.*?) +\|$/gm)];
    const written = rows.map(([, reason, code, sentence]) => [reason, Number(code), sentence]);
    const listed = Object.entries(listedRefusals).map(([reason, { rpcCode, sentence }]) => [
      reason,
      rpcCode,
      sentence,
    ]);
    expect(written).toEqual(listed);
  });
});

describe('a document', () => {
  it('is the same whenever it is made', () => {
    const made = () =>
      Array.from({ length: 300 }, (_, at) => documentAt(seed, 7 * at).toString('hex'));
    expect(made()).toEqual(made());
  });

  it('that is wrong is made as small as it can be and still be wrong', () => {
    const hasNul = (bytes: Buffer) => bytes.includes(0) && bytes.includes(0x22);
    const input = Buffer.from(`{"a":[1,2,3,{"b":"${'x'.repeat(500)}\0"}]}`);
    expect(minimised(input, hasNul)).toHaveLength(2);
  });
});
