// The end of a gateway: nothing new begins, and running calls may end. Who has pressed Ctrl-C is told what is
// being waited for.

import type { Gateway } from '../../downstream/gateway.ts';
import { durationText } from '../render/quantity.ts';
import { remark, type Shell } from '../shell.ts';
import type { Control } from './own-instance.ts';
import type { Served } from './served.ts';

/** After Ctrl-C, says what is being waited for, and how to stop at once; `others` are not the gateway's. */
export function drainTelling(
  shell: Shell,
  gateway: Gateway,
  drainMs: number,
  others = 0,
): Promise<void> {
  const drained = gateway.drain(drainMs);
  const { err, interrupt } = shell;
  // Requests that only listen have ended by now.
  const count = gateway.underWay + others;
  if (interrupt.isByHand && count > 0) {
    // The terminal has just shown `^C`.
    if (err.isTerminal) err.line();
    const calls = count === 1 ? '1 call' : `${count} calls`;
    const told = `waiting for ${calls} to end, up to ${durationText(drainMs)} (drainMs)`;
    remark(shell, `${told}; press Ctrl-C again to end at once`);
  }
  return drained;
}

/** The end of an instance: nothing new begins, and calls may end; so many were passed on to other replicas. */
export async function drainAll(
  served: Served,
  control: Control | undefined,
  passedOn = 0,
): Promise<void> {
  const { host, gateway, instance } = served;
  const { shell } = served.invocation;
  const { drainMs } = host.config;
  const isAsked = control?.isEndAsked() ?? false;
  await Promise.all([
    drainTelling(shell, gateway, drainMs, passedOn + (instance?.underWay ?? 0)),
    instance?.drain(drainMs, isAsked),
  ]);
}
