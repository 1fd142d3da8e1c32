// Prints a fault as one line: what happened to which server, its code, the last stderr line, and
// the next command to try. Everything in it that came from a server is escaped.

import { type FaultCode, type FaultRecord, faultTable } from '../../kernel/fault.ts';
import { printableLine } from '../../kernel/printable.ts';
import { cutText } from '../../kernel/text-cut.ts';
import { exitCodes } from '../exit-codes.ts';
import { type NextSteps, nextSteps } from '../next-step.ts';
import type { Style } from './style.ts';

/** One line, unless the detail itself has several: a config file can have several mistakes. */
export function faultLines(
  record: FaultRecord,
  style: Style,
  steps: NextSteps = nextSteps(undefined),
): readonly string[] {
  const causes = record.detail.split('\n').map(printableLine);
  const last = causes.length - 1;
  return causes.map((cause, index) => {
    const more = index === last ? afterthoughts(record, cause, { style, steps }) : [];
    const parts = [named(record, cause) + codeText(record, style), ...more];
    return `${style('red', 'holdfast:')} ${parts.join(style('dim', ' · '))}`;
  });
}

/** Mistakes in the command line or the config are shown without a code. */
function codeText({ code }: FaultRecord, style: Style): string {
  return faultTable[code].exit === exitCodes.usage ? '' : style('dim', ` [${code}]`);
}

/** Most details name their server; where one does not, its name comes first. */
function named({ server, tool }: FaultRecord, cause: string): string {
  if (server === '' || mentions(cause, server)) return cause;
  return `${tool === undefined ? server : `${server}/${tool}`}: ${cause}`;
}

/** As a word of its own: a server may be called `dir`. */
function mentions(cause: string, server: string): boolean {
  return cause.split(/[^\w.-]+/).some((word) => word === server || word === `${server}.`);
}

function afterthoughts(
  record: FaultRecord,
  cause: string,
  { style, steps }: { readonly style: Style; readonly steps: NextSteps },
): string[] {
  const parts: string[] = [];
  const stderr = untold(record.stderr, cause);
  if (stderr !== '')
    parts.push(`stderr: ${style('yellow', cutText(longestStderr, printableLine(stderr)))}`);
  const next = nextStep(record);
  // Some details already end in a command.
  if (next !== null && !cause.includes('holdfast '))
    parts.push(`next: ${style('bold', steps(next))}`);
  return parts;
}

/** The lines of stderr, unless the detail already contains them. */
function untold(stderr: string | undefined, cause: string): string {
  const lines = (stderr ?? '').split('\n').filter((line) => line.trim() !== '');
  const isTold = lines.some((line) => cause.includes(printableLine(line)));
  return isTold ? '' : lines.join('\n');
}

const longestStderr = 300;

/** The next command to try; null if the detail says all there is to do. */
function nextStep({ code, server, tool, dispatched }: FaultRecord): string | null {
  switch (steps[code]) {
    case 'names':
      return tool === undefined ? 'holdfast status' : 'holdfast tools';
    case 'schema':
      return tool === undefined ? null : `holdfast tools ${server}/${tool}`;
    case 'story':
      return server === '' ? null : `holdfast status ${server}`;
    case 'repair':
      return server === '' ? null : 'holdfast doctor';
    case 'start':
      return server === '' ? null : 'holdfast doctor, or run its command by hand';
    case 'patience':
      // The detail says how to allow more time.
      return dispatched === 'no' ? null : `holdfast status ${server}`;
    case 'defect':
      return 'set HOLDFAST_LOG=debug and report the output';
    case null:
      return null;
  }
}

type Step = 'names' | 'schema' | 'story' | 'repair' | 'start' | 'patience' | 'defect' | null;

const steps: Readonly<Record<FaultCode, Step>> = {
  not_found: 'names',
  invalid_request: 'repair',
  denied: null,
  budget_exceeded: null,
  conflict: null,
  rpc_error: 'schema',
  unavailable: 'start',
  start_timeout: 'start',
  circuit_open: 'story',
  ejected: 'story',
  overloaded: 'story',
  draining: null,
  timeout: 'patience',
  cancelled: null,
  outcome_unknown: 'story',
  frame_too_large: 'story',
  protocol_violation: 'story',
  quarantined: 'schema',
  auth_required: null,
  internal: 'defect',
};
