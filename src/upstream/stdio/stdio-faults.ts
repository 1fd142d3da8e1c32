// The faults of a child that has exited, or did not start: how it ended, and what it printed on
// stderr, or on stdout where only MCP is allowed.

import { Fault, type FaultCode } from '../../kernel/fault.ts';
import { cutText } from '../../kernel/text-cut.ts';
import type { Exit } from '../../supervise/child.ts';
import { causeIn } from './stderr-cause.ts';

/** A fault of this child; `what` continues a sentence about it. */
export type StdioFault = (what: string, code: FaultCode) => Fault;

/** How it ended, as the rest of a sentence about it. */
export function exitWords(exit: Exit, isGreeted: boolean, stderr: readonly string[]): string {
  if (exit.limit) return `was ended for exceeding limits.${exit.limit}`;
  const how = exit.signal ? `was killed by ${exit.signal}` : `exited with code ${exit.code}`;
  const cause = causeIn(stderr);
  if (!isGreeted) {
    // Its own output comes first: on a narrow screen the rest is cut off.
    return cause ? `did not start: ${cause.line} (it ${how})` : `${how} before it was ready`;
  }
  // Long after its start, its last output may be about anything.
  const why = cause?.isError && exit.code !== null ? `: ${cause.line}` : '';
  return `${how}${why}`;
}

/**
 * A start that failed, with what the server printed about it; the lines contain no secrets any
 * more.
 */
export function explained(
  error: unknown,
  stray: string | undefined,
  stderr: readonly string[],
): unknown {
  if (!(error instanceof Fault)) return error;
  const told = stray === undefined ? error : error.because(strayText(stray));
  const cause = causeIn(stderr);
  if (!cause || error.record.stderr !== undefined) return told;
  const whole = told.with({ stderr: cause.excerpt });
  return cause.isError ? whole.because(`its stderr says: ${cause.line}`) : whole;
}

const longestStray = 200;

function strayText(line: string): string {
  return `on stdout, where only MCP is allowed, it printed: ${cutText(longestStray, line.trim())}`;
}
