// Which answers of another Holdfast say that the call has not run.

import { describe, expect, it } from 'vitest';
import { faultError, faultResult } from '../../downstream/refusals.ts';
import { Fault } from '../../kernel/fault.ts';
import { localUser } from '../../policy/principal.ts';
import { errorFrame } from '../../wire/frames.ts';
import { joinPieces } from '../../wire/pieces.ts';
import { scanMessage } from '../../wire/scan.ts';
import { saysUnrun } from './unrun-answer.ts';

const to = { isModern: true, principal: localUser };
const resultOf = (result: string) =>
  scanMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`));

describe('an answer', () => {
  it.each([
    ['no', true],
    ['maybe', false],
    ['yes', false],
  ] as const)(
    'with a fault of a call that was dispatched: %s #idempotency-key',
    (dispatched, isUnrun) => {
      const fault = new Fault('overloaded', 'as the test says', { dispatched });
      expect(saysUnrun(resultOf(faultResult(fault, to)))).toBe(isUnrun);
      const frame = joinPieces(errorFrame('1', faultError(fault, localUser)));
      expect(saysUnrun(scanMessage(frame))).toBe(isUnrun);
    },
  );

  it.each([
    '{"content":[],"isError":true}',
    '{"content":[],"_meta":{"holdfast/fault":{"code":"x","dispatched":"no"}}}',
    '{"isError":true,"_meta":{"holdfast/fault":{"dispatched":"no"}}}',
    '{"isError":true,"_meta":[]}',
    '[]',
  ])('that is no fault of a call that was not sent: %s #idempotency-key', (result) => {
    expect(saysUnrun(resultOf(result))).toBe(false);
  });
});
