// What is said where another process is the instance of a config, and cannot be joined or replaced now: which
// process it is, what it is doing, and what helps.

import { holderOf } from '../instance/instance.ts';
import type { LockHolder } from '../instance/lock-holder.ts';
import type { InstancePlace } from '../instance/place.ts';
import { Fault } from '../kernel/fault.ts';
import { agoText } from './render/quantity.ts';
import type { Shell } from './shell.ts';

/** For a command that needs an instance which does not answer; undefined if no process is it. */
export async function unreachableFault(place: InstancePlace): Promise<Fault | undefined> {
  const holder = await holderOf(place);
  if (holder === undefined) return undefined;
  const { pid, isEnding } = holder;
  if (isEnding === true) return endingFault(place.config, pid);
  return new Fault(
    'unavailable',
    `an instance of ${place.config} is being started (process ${pid}); try again in a moment`,
  );
}

/** It takes nothing new. */
export function endingFault(config: string, pid: number): Fault {
  return new Fault(
    'draining',
    `the instance of ${config} is ending (process ${pid}): it waits for running calls and stops its servers; try again when it has ended, or end it at once with: kill -9 ${pid}`,
  );
}

/** For `serve`, which cannot be another one. */
export function heldFault({ clock }: Shell, config: string, holder: LockHolder): Fault {
  const { pid, program, since, startedBy, isEnding } = holder;
  if (isEnding === true) return endingFault(config, pid);
  const started = `started ${agoText(clock.wallNow() - since)}`;
  const who = `process ${pid}, Holdfast ${program}, ${started}`;
  const told =
    startedBy === 'connect'
      ? `(${who} by a window of a client, without a port for HTTP); see it with: holdfast status; to serve over HTTP, end it with: holdfast shutdown, then run this again`
      : `(${who}); see it with: holdfast status, end it with: holdfast shutdown`;
  return new Fault('unavailable', `an instance of ${config} is running already ${told}`);
}
