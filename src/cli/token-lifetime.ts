// How long a token lives, as it is typed: a whole number of days, hours or minutes.

import { Fault } from '../kernel/fault.ts';

const units: ReadonlyMap<string, number> = new Map([
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
]);

/** Ten years. */
const longestMs = 3_650 * 86_400_000;

/** In milliseconds. Throws a Fault for anything else. */
export function lifetimeFrom(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,9})([dhm])$/.exec(text) ?? [];
  const ms = Number(digits) * (units.get(unit) ?? Number.NaN);
  if (Number.isNaN(ms)) {
    throw refusal(text, 'is not a time: write days, hours or minutes, such as 30d, 12h or 90m');
  }
  if (ms === 0) throw refusal(text, 'would end the token at once: give it at least a minute');
  if (ms > longestMs) throw refusal(text, 'is more than ten years: leave --expires out for no end');
  return ms;
}

function refusal(text: string, why: string): Fault {
  return new Fault('invalid_request', `--expires ${text} ${why}`);
}
