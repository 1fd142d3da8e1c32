// What a check throws when the code under test and its oracle do not say the same. Anything else that
// is thrown while an input is checked is a finding just as well: no input may surprise the code.

export class Disagreement extends Error {
  override readonly name = 'Disagreement';
}

/** Holds what must be so against what is. */
export function agree(isSo: boolean, says: () => string): asserts isSo {
  if (!isSo) throw new Disagreement(says());
}

/** What is wrong with an input, in one line; undefined if nothing is. */
export function wrongWith(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof Disagreement) return thrown.message;
    if (!(thrown instanceof Error)) return `threw ${String(thrown)}`;
    const place = thrown.stack?.split('\n').find((line) => /^\s+at /.test(line));
    return `threw ${thrown.name}: ${thrown.message} (${place?.trim() ?? 'nowhere'})`;
  }
}

/** A value that is short enough for a line. */
export function shortly(value: unknown): string {
  const whole = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  const text = whole.replace(/\s+/g, ' ');
  return text.length <= 160 ? text : `${text.slice(0, 159)}…`;
}
