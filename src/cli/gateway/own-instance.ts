// Makes `holdfast serve` the instance of its config, so that commands and other windows reach it. Where
// the state directory cannot be used, the gateway runs without, and says so.

import { dirname } from 'node:path';
import { realConfigPath } from '../../config/config-path.ts';
import type { LoadedConfig } from '../../config/loaded.ts';
import type { Gateway } from '../../downstream/gateway.ts';
import type { RefusedCounts } from '../../downstream/http/access/refused-requests.ts';
import type { OutgoingBudget } from '../../downstream/outgoing/outgoing-budget.ts';
import { SocketClients } from '../../downstream/stdio/socket-clients.ts';
import type { OpenedHost } from '../../host/create-host.ts';
import { ownIdentity } from '../../host/identity.ts';
import { comparedVariables } from '../../instance/environment-match.ts';
import { instanceOperations } from '../../instance/host-operations.ts';
import { type Claimed, claimInstance, type OwnInstance } from '../../instance/instance.ts';
import { isAlive } from '../../instance/lock-holder.ts';
import { instancePlace } from '../../instance/place.ts';
import { readNamedFile } from '../../kernel/bounded-file.ts';
import { within } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { remedyFor } from '../../kernel/disk-remedy.ts';
import { errnoOf } from '../../kernel/errno.ts';
import { Fault } from '../../kernel/fault.ts';
import { FileTooLarge } from '../../kernel/file-too-large.ts';
import type { KeptSockets } from '../../kernel/kept-sockets.ts';
import { makePrivateFolder } from '../../kernel/private-folder.ts';
import type { BrokerState } from '../../observe/broker-state.ts';
import { isStoredKey } from '../../policy/stored-key.ts';
import type { ServingRollouts } from '../../rollout/serving-rollouts.ts';
import { heldFault } from '../held-instance.ts';
import { remark, type Shell } from '../shell.ts';
import { pause } from '../target.ts';
import type { ConfigInUse } from './config-in-use.ts';
import { rolloutTold } from './rollout-told.ts';

/** Undefined if it cannot be one. Throws a Fault if another process is it; one that is ending is waited for. */
export async function claimedInstance(
  shell: Shell,
  { file }: LoadedConfig,
  stateDir: string | null,
  startedBy: 'serve' | 'connect',
): Promise<OwnInstance | undefined> {
  if (file === null || stateDir === null) return undefined;
  let held: Fault | undefined;
  let own: OwnInstance | undefined;
  try {
    const place = instancePlace(stateDir, realConfigPath(file) ?? file, shell.env);
    const { holder } = shell;
    const claimer = { pid: holder?.pid, isOfFormer: holder?.isSuccessor };
    const self = { program: ownIdentity().version, startedBy, ...claimer };
    const claim = () => claimInstance(place, shell.clock, self);
    const claimed = startedBy === 'serve' ? await whenEnded(shell, claim) : await claim();
    // Before the first server is started, so that the folder can be hidden from it.
    if (claimed.kind === 'claimed') {
      own = claimed.instance;
      await makePrivateFolder(dirname(place.socket));
      return own;
    }
    held = await heldFault(shell, file, claimed.by);
    throw held;
  } catch (error) {
    if (held !== undefined) throw held;
    // It cannot be the instance: another process may.
    await own?.[Symbol.asyncDispose]();
    const code = errnoOf(error);
    if (code === undefined && !(error instanceof Fault)) throw error;
    const why = code === undefined ? (error as Fault).message : `${code}: ${remedyFor(code)}`;
    remark(shell, `commands cannot reach this gateway, and it keeps no state of its own: ${why}`);
    return undefined;
  }
}

/** Longer than drainMs usually is; what takes longer is reported. */
const endingMs = 30_000;
const betweenLooksMs = 50;

/** The last claim: one that is held by a process that is ending is repeated until that has ended. */
async function whenEnded(shell: Shell, claim: () => Promise<Claimed>): Promise<Claimed> {
  const { clock, interrupt } = shell;
  const giveUpAt = clock.now() + endingMs;
  let isTold = false;
  for (;;) {
    const claimed = await claim();
    const isEnding = claimed.kind === 'held' && claimed.by.isEnding === true;
    // A window that only looks whether to start one has it for a moment.
    const isBrief = claimed.kind === 'held' && claimed.by.startedBy === null;
    const isPassing = isEnding || isBrief;
    if (!isPassing || clock.now() > giveUpAt || interrupt.signal.aborted) return claimed;
    if (isEnding && !isTold) {
      const { pid } = claimed.by;
      const isHere = (await isAlive(claimed.by)) === true;
      const who = isHere ? `process ${pid}` : 'in another container';
      const told = `the instance that runs is ending (${who}); this one starts when it has ended`;
      remark(shell, isHere ? `${told}; to end it at once: kill -9 ${pid}` : told);
    }
    isTold ||= isEnding;
    await pause(clock, betweenLooksMs, interrupt.signal);
  }
}

export interface Control {
  /** Resolves when `holdfast shutdown` was asked for. */
  readonly endAsked: Promise<void>;
  readonly isEndAsked: () => boolean;
  readonly clients: SocketClients;
}

export interface ControlParts {
  readonly host: OpenedHost;
  readonly gateway: Gateway;
  readonly outgoing: OutgoingBudget;
  readonly inUse: ConfigInUse;
  readonly rollouts: Pick<ServingRollouts, 'ask'>;
  readonly keepsKeys: boolean;
  /** Where it serves MCP over HTTP; null: nowhere. */
  readonly url: string | null;
  /** What it has refused there. */
  readonly refused: () => RefusedCounts | null;
  /** Its link to a broker; null: there is none. */
  readonly broker: () => BrokerState | null;
  readonly env: Shell['env'];
  /** Where the socket outlives this process. */
  readonly sockets?: KeptSockets | undefined;
}

/** From now on commands and other windows reach this gateway. */
export async function startControl(
  instance: OwnInstance,
  {
    host,
    gateway,
    outgoing,
    inUse,
    rollouts,
    keepsKeys,
    url,
    refused,
    broker,
    env,
    sockets,
  }: ControlParts,
): Promise<Control> {
  let end = () => {};
  let isAsked = false;
  const endAsked = new Promise<void>((resolve) => {
    end = () => {
      isAsked = true;
      resolve();
    };
  });
  const facts = async () => ({
    pid: instance.pid,
    url,
    refused: refused(),
    broker: broker(),
    clients: gateway.clients,
    differing: instance.differing,
    usedConfig: await inUse.facts(),
    needsStart: host
      .planFor(inUse.used)
      .settings.filter(({ applies }) => applies === 'restart-host')
      .map(({ key }) => key),
  });
  const { clock } = host;
  const clients = new SocketClients({ front: gateway, clock, outgoing, frameBytes: 16_777_216 });
  const identity = async () => {
    const { instance: id, startedBy } = host.status();
    const { version: program } = ownIdentity();
    const { pid } = instance;
    if (!keepsKeys) return { program, instance: id, startedBy, keepsKeys, pid };
    // Only when the database is open it is known whether it keeps anything.
    const keys = host.records('keys', { durability: 'durable', shape: isStoredKey });
    let isWhole = false;
    const asked = keys.isWhole().then((whole) => {
      isWhole = whole;
    });
    // A disk that hangs keeps nobody out.
    await within(clock, databaseMs, asked.catch(ignored));
    const kept = isWhole && host.status().disk.ok;
    return { program, instance: id, startedBy, keepsKeys: kept, pid };
  };
  await instance.listen({
    clock,
    sockets,
    identity,
    operations: instanceOperations(host, {
      readConfig: () => inUse.read(),
      taken: (config) => inUse.take(config),
      facts,
      rollout: async () => rolloutTold(await rollouts.ask()),
      shutdown: async () => {
        // Before it is answered: who asks for the end may start the next one at once.
        await instance.tellEnding();
        end();
      },
    }),
    serveClient: (socket, folder) => clients.add(socket, folder),
    caught: (error) => host.defects.caught('the control socket', error),
    outgoing,
    variables: () => variablesFor(instance.place.config, env),
  });
  return { endAsked, isEndAsked: () => isAsked, clients };
}

/** A greeting waits no longer than this for the database to open. */
const databaseMs = 1_000;
const maxConfigBytes = 67_108_864;

/** Undefined if the config cannot be read now. */
function variablesFor(config: string, env: Shell['env']): ReadonlyMap<string, string> | undefined {
  try {
    return comparedVariables(env, readNamedFile(config, maxConfigBytes).toString('utf8'));
  } catch (error) {
    if (error instanceof Error && ('code' in error || error instanceof FileTooLarge))
      return undefined;
    throw error;
  }
}
