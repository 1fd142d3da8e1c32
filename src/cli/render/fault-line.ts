// A fault in one line for a person: what happened to which server, its code, the last thing the
// server said, and the command that helps next. Everything in it that came from a server is escaped.

import { type FaultCode, type FaultRecord, faultTable } from '../../kernel/fault.ts';
import { printableLine } from '../../kernel/printable.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Style } from './style.ts';

/** One line, unless the detail itself has several: a config file can have several mistakes. */
export function faultLines(record: FaultRecord, style: Style): readonly string[] {
  const causes = record.detail.split('\n').map(printableLine);
  const last = causes.length - 1;
  return causes.map((cause, index) => {
    const parts = [named(record, cause) + codeText(record, style)];
    if (index === last) parts.push(...afterthoughts(record, cause, style));
    return `${style('red', 'holdfast:')} ${parts.join(style('dim', ' · '))}`;
  });
}

/** What is wrong with the command line or the config needs no code: the words are enough. */
function codeText({ code }: FaultRecord, style: Style): string {
  return faultTable[code].exit === exitCodes.usage ? '' : style('dim', ` [${code}]`);
}

/** Most details name their server; where one does not, its name comes first. */
function named({ server, tool }: FaultRecord, cause: string): string {
  if (server === '' || cause.includes(server)) return cause;
  return `${tool === undefined ? server : `${server}/${tool}`}: ${cause}`;
}

function afterthoughts(record: FaultRecord, cause: string, style: Style): string[] {
  const parts: string[] = [];
  const { stderr } = record;
  if (stderr !== undefined) parts.push(`stderr: ${style('yellow', cut(printableLine(stderr)))}`);
  const next = nextStep(record);
  // Some details already end in the very command.
  if (next !== null && !cause.includes(next)) parts.push(`next: ${style('bold', next)}`);
  return parts;
}

const longestStderr = 300;

function cut(text: string): string {
  return text.length <= longestStderr ? text : `${text.slice(0, longestStderr - 1)}…`;
}

/** The command a person should try; null where the detail says all there is to do. */
export function nextStep({ code, server, tool }: FaultRecord): string | null {
  const step = steps[code];
  if (step === 'schema' && tool !== undefined) return `holdfast tools ${server}/${tool}`;
  if (step === 'names') {
    return tool === undefined ? 'holdfast status' : `holdfast tools ${server}`;
  }
  if (step === 'story' && server !== '') return `holdfast status ${server}`;
  if (step === 'doctor' && server !== '') return 'holdfast doctor';
  if (step === 'report') return 'set HOLDFAST_LOG=debug and report what it shows';
  return null;
}

type Step = 'names' | 'schema' | 'story' | 'doctor' | 'report' | null;

const steps: Readonly<Record<FaultCode, Step>> = {
  not_found: 'names',
  invalid_request: 'schema',
  denied: null,
  budget_exceeded: null,
  conflict: null,
  rpc_error: 'schema',
  unavailable: 'doctor',
  start_timeout: 'story',
  circuit_open: 'story',
  ejected: 'story',
  overloaded: 'story',
  draining: null,
  timeout: 'story',
  cancelled: null,
  outcome_unknown: 'story',
  frame_too_large: 'story',
  protocol_violation: 'story',
  quarantined: 'schema',
  auth_required: null,
  internal: 'report',
};
