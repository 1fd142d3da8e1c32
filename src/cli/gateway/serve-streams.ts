// Serves one client on standard input and output, until it disconnects or a signal comes.

import type { Gateway } from '../../downstream/gateway.ts';
import { holdUpServers } from '../../downstream/outgoing/hold-up.ts';
import { OutgoingBudget } from '../../downstream/outgoing/outgoing-budget.ts';
import { standardInput } from '../../downstream/stdio/input-rest.ts';
import { startStdio } from '../../downstream/stdio/stdio-front.ts';
import type { OpenedHost } from '../../host/create-host.ts';
import { within } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import type { Principal } from '../../policy/principal.ts';
import type { ServingRollouts } from '../../rollout/serving-rollouts.ts';
import { exitCodes } from '../exit-codes.ts';
import { remark, type Shell } from '../shell.ts';
import { drainTelling } from './drain.ts';
import { endOrReplaced } from './rollout/end-or-replaced.ts';
import { clientOverRollouts, restoredClient } from './rollout/stdio-client.ts';
import type { Succession } from './rollout/succession.ts';
import type { Served } from './served.ts';

/** Of one message of a client. */
const frameBytes = 16_777_216;
/** Clients send TERM two seconds after they have closed our input, and KILL two seconds later. */
const stdioDrainMs = 1_500;
/** How long the client may take to read the last answers. */
const lastWordsMs = 500;

export async function serveStreams(served: Served): Promise<number> {
  const { host, gateway, invocation, onServing, succession, rollouts } = served;
  const { shell } = invocation;
  return await serveClient({ shell, host, gateway, onServing, succession, rollouts });
}

export interface OneClient {
  readonly shell: Shell;
  readonly host: OpenedHost;
  readonly gateway: Gateway;
  /** Absent: the local user. */
  readonly principal?: Principal;
  readonly onServing?: () => void;
  /** The processes before and after this one. */
  readonly succession?: Succession | undefined;
  readonly rollouts?: ServingRollouts;
}

/** Closes the host when the client has gone. */
export async function serveClient(one: OneClient): Promise<number> {
  const { shell, host, gateway, principal, onServing, succession, rollouts } = one;
  const { clock, interrupt } = shell;
  const { stdout: output } = process;
  const input = succession ? standardInput() : process.stdin;
  const restored = succession && restoredClient(succession);
  const outgoing = new OutgoingBudget(clock, (line) => remark(shell, line));
  const held = (isHeld: boolean) => holdUpServers(host, isHeld);
  const parts = { front: gateway, input, output, frameBytes, clock, outgoing, held, restored };
  const front = startStdio({ ...parts, ...(principal && { principal }) });
  using _giving = succession && clientOverRollouts(front, succession);
  onServing?.();
  const ends: Promise<unknown>[] = [front.inputEnded, front.gone, interrupt.arrived];
  const ended = rollouts ? endOrReplaced({ succession, rollouts }, ends) : Promise.race(ends);
  if ((await ended) === 'replaced') {
    await Promise.all([front.close(lastWordsMs), host.close()]);
    await succession?.lastWords();
    return exitCodes.ok;
  }
  const hurriedMs = Math.min(host.config.drainMs, stdioDrainMs);
  const hurry = () => drainTelling(shell, gateway, hurriedMs);
  interrupt.arrived.then(hurry).catch(ignored);
  const drainMs = interrupt.signal.aborted ? hurriedMs : host.config.drainMs;
  const lost = await Promise.race([gateway.drain(drainMs), front.gone]);
  // What the process before still answers goes by way of this one.
  await within(clock, drainMs, front.formerDone);
  const [isRead] = await Promise.all([front.close(lastWordsMs), host.close()]);
  if (!isRead) shell.out.giveUp();
  return lost === 'not-reading' ? exitCodes.unavailable : exitCodes.ok;
}
