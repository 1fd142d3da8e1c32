import { describe, expect, it } from 'vitest';
import { atLeast, atMost, exactly, fact, hasPassed, type Report, tableOf } from './report.ts';
import { steps } from './steps.ts';
import { inDocument, markdownOf, summaryOf, type Taken } from './summary.ts';

const good: Report = {
  title: 'a storm',
  figures: [fact('seed', 7), exactly('lost', 0, 0), atLeast('calls', 20_000, 10_000)],
  findings: [],
};
const missed: Report = { ...good, figures: [atMost('growth', 6, 5, ' files')] };

const taken = (report: Report): Taken => ({
  step: steps[0] as (typeof steps)[number],
  seconds: 1.4,
  report,
  isPassed: hasPassed(report),
});

describe('a report', () => {
  it('has passed when every goal is met and nothing was found', () => {
    expect(hasPassed(good)).toBe(true);
    expect(hasPassed(missed)).toBe(false);
    expect(hasPassed({ ...good, findings: ['a call was lost'] })).toBe(false);
  });

  it('shows each figure with its goal, and what was missed in capitals', () => {
    expect(tableOf(good)).toContain('calls  20,000  ok, goal at least 10,000');
    expect(tableOf(missed)).toContain('growth  6  MISSED, goal at most 5 files');
  });
});

describe('the summary of all proofs', () => {
  it('shows what has a goal, and for each proof how it ended', () => {
    const text = summaryOf([taken(good), taken(missed)]);
    expect(text).not.toContain('seed');
    expect(text).toMatch(/lost +0 +met/);
    expect(text).toMatch(/growth +6 +MISSED/);
    expect(text).toContain('FAILED  simulation in 1 s');
  });

  it('replaces the figures in the document and nothing else', () => {
    const after = inDocument(
      'a\n<!-- figures: written by npm run proof -- --write -->\nold\n<!-- end of figures -->\nb\n',
      markdownOf([taken(good)], 'Commit abc.'),
    );
    expect(after).toMatch(/^a\n<!-- figures.*\nCommit abc\.\n/);
    expect(after).toContain('| lost | 0 | 0 | met |');
    expect(after).toMatch(/\nb\n$/);
    expect(after).not.toContain('old');
    expect(() => inDocument('no marks', '')).toThrow('lost its marks');
  });
});
