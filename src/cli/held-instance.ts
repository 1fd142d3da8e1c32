// What is said where another process is the instance of a config, and cannot be joined or replaced now: which
// process it is, what it is doing, and what helps.

import { holderOf } from '../instance/instance.ts';
import { isAlive, type LockHolder } from '../instance/lock-holder.ts';
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

/** It takes nothing new. `pid` is null if it is of another container. */
export function endingFault(config: string, pid: number | null): Fault {
  const who = pid === null ? 'in another container' : `process ${pid}`;
  const told = `the instance of ${config} is ending (${who}): it waits for running calls and stops its servers; try again when it has ended`;
  const now = pid === null ? '' : `, or end it at once with: kill -9 ${pid}`;
  return new Fault('draining', `${told}${now}`);
}

/** For `serve`, which cannot be another one. */
export async function heldFault(
  { clock }: Shell,
  config: string,
  holder: LockHolder,
): Promise<Fault> {
  const { pid, program, since, startedBy, isEnding } = holder;
  const isHere = (await isAlive(holder)) === true;
  if (isEnding) return endingFault(config, isHere ? pid : null);
  const started = `started ${agoText(clock.wallNow() - since)}`;
  const where = isHere ? `process ${pid}` : 'in another container';
  const who = `${where}, Holdfast ${program}, ${started}`;
  const told =
    startedBy === 'connect'
      ? `(${who} by a window of a client, without a port for HTTP); see it with: holdfast status; to serve over HTTP, end it with: holdfast shutdown, then run this again at once: windows start another one 20 seconds later, or 2 seconds later where a request waits`
      : `(${who}); see it with: holdfast status, end it with: holdfast shutdown`;
  return new Fault('unavailable', `an instance of ${config} is running already ${told}`);
}
