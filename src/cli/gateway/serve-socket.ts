// Serves the windows of `holdfast connect` over the control socket, until the last of them has been gone for a
// while, a signal comes or somebody asks for the end.

import { OutgoingBudget } from '../../downstream/outgoing/outgoing-budget.ts';
import { Fault } from '../../kernel/fault.ts';
import { keptSockets } from '../../rollout/kept-sockets.ts';
import { exitCodes } from '../exit-codes.ts';
import { remark } from '../shell.ts';
import { drainAll } from './drain.ts';
import { startControl } from './own-instance.ts';
import { endOrReplaced } from './rollout/end-or-replaced.ts';
import { leaveToNext } from './rollout/former.ts';
import { windowsOverRollouts } from './rollout/local-clients.ts';
import type { Served } from './served.ts';

/** For the clients of `holdfast connect` alone: nothing listens on a port. */
export async function serveSocket(served: Served, idleMs: number): Promise<number> {
  const { host, gateway, instance } = served;
  const { shell } = served.invocation;
  if (instance === undefined) throw new Fault('unavailable', 'there is no place for its socket');
  const outgoing = new OutgoingBudget(host.clock, (line) => remark(shell, line));
  const { inUse, rollouts, ownsDatabase: keepsKeys, broker } = served;
  const { env } = shell;
  const common = { host, gateway, outgoing, inUse, rollouts, keepsKeys, broker, env };
  const { succession } = served;
  const sockets = shell.holder && keptSockets(shell.holder);
  const parts = { ...common, url: null, refused: () => null, sockets };
  const control = await startControl(instance, parts);
  using _windows = succession && windowsOverRollouts(instance, control.clients, succession);
  served.onServing();
  const asked = [shell.interrupt.arrived, control.endAsked, control.clients.idleFor(idleMs)];
  if ((await endOrReplaced(served, asked)) === 'replaced') {
    await control.clients.close();
    return await leaveToNext(served);
  }
  await Promise.all([drainAll(served, control), succession?.formersEnded(host.config.drainMs)]);
  await control.clients.close();
  await instance.stopListening();
  await host.close();
  return exitCodes.ok;
}
