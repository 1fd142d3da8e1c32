// HOLDFAST_LOG: how much a command prints besides its answer. By default only secondary problems
// (such as a log that cannot be written); with `info` also the events of servers; with `debug` also
// single calls and the stack of a fault. All of it goes to standard error.

import { Fault } from '../kernel/fault.ts';

const levels = ['error', 'warn', 'info', 'debug'] as const;

export type LogLevel = (typeof levels)[number];

export function logLevelFrom(text: string | undefined): LogLevel {
  return levels.find((level) => level === text?.toLowerCase()) ?? 'warn';
}

/** Refuses values that `logLevelFrom` would only guess. */
export function assertLogLevel(text: string | undefined): void {
  if (!text || levels.some((level) => level === text.toLowerCase())) return;
  throw new Fault(
    'invalid_request',
    `HOLDFAST_LOG is ${JSON.stringify(text)}: set it to one of ${levels.join(', ')}`,
  );
}

export function includes(level: LogLevel, asked: LogLevel): boolean {
  return levels.indexOf(level) >= levels.indexOf(asked);
}
