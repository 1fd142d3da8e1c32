import { expect, test } from 'vitest';
import { type FaultCode, faultTable } from '../kernel/fault.ts';
import { isTelling, outcomeOf } from './outcome.ts';

const codes = Object.keys(faultTable) as FaultCode[];

test('every fault that trips the breaker is a transport fault that tells something', () => {
  for (const code of codes.filter((candidate) => faultTable[candidate].trips)) {
    expect(outcomeOf(code)).toBe('transport_fault');
    expect(isTelling(code)).toBe(true);
  }
});

test('no answer is told as the last fault', () => {
  const answers = codes.filter((code) => outcomeOf(code) === 'response_error');
  expect(answers).toHaveLength(8);
  expect(answers.some(isTelling)).toBe(false);
});
