// Makes `holdfast serve` the instance of its config, so that commands and other windows reach it. Where
// the state directory cannot be used, the gateway runs without, and says so.

import { dirname } from 'node:path';
import type { LoadedConfig } from '../config/loaded.ts';
import type { Gateway } from '../downstream/gateway.ts';
import type { OutgoingBudget } from '../downstream/outgoing/outgoing-budget.ts';
import type { SocketClients } from '../downstream/stdio/socket-clients.ts';
import type { OpenedHost } from '../host/create-host.ts';
import { ownIdentity } from '../host/identity.ts';
import type { OwnInstance } from '../instance/instance.ts';
import type { LockHolder } from '../instance/lock-holder.ts';
import { remedyFor } from '../kernel/disk-remedy.ts';
import { errnoOf } from '../kernel/errno.ts';
import { Fault } from '../kernel/fault.ts';
import { makePrivateFolder } from '../kernel/private-folder.ts';
import { agoText } from './render/quantity.ts';
import { remark, type Shell } from './shell.ts';

/** Undefined if it cannot be one. Throws a Fault if another process is it. */
export async function claimedInstance(
  shell: Shell,
  { file }: LoadedConfig,
  stateDir: string | null,
): Promise<OwnInstance | undefined> {
  if (file === null || stateDir === null) return undefined;
  const [{ instancePlace }, { claimInstance }, { realConfigPath }] = await Promise.all([
    import('../instance/place.ts'),
    import('../instance/instance.ts'),
    import('../config/config-path.ts'),
  ]);
  try {
    const place = instancePlace(stateDir, realConfigPath(file) ?? file, shell.env);
    const claimed = await claimInstance(place, shell.clock, ownIdentity().version);
    // Before the first server is started, so that the folder can be hidden from it.
    if (claimed.kind === 'claimed') {
      await makePrivateFolder(dirname(place.socket));
      return claimed.instance;
    }
    throw new Held(shell, file, claimed.by);
  } catch (error) {
    if (error instanceof Held) throw error;
    const code = errnoOf(error);
    if (code === undefined && !(error instanceof Fault)) throw error;
    const why = code === undefined ? (error as Fault).message : `${code}: ${remedyFor(code)}`;
    remark(shell, `commands cannot reach this gateway, and it keeps no state of its own: ${why}`);
    return undefined;
  }
}

class Held extends Fault {
  constructor({ clock }: Shell, file: string, { pid, program, since }: LockHolder) {
    const who = `process ${pid}, Holdfast ${program}, started ${agoText(clock.wallNow() - since)}`;
    super(
      'unavailable',
      `an instance of ${file} is running already (${who}); see it with: holdfast status, end it with: holdfast shutdown`,
    );
  }
}

export interface Control {
  /** Resolves when `holdfast shutdown` was asked for. */
  readonly endAsked: Promise<void>;
  readonly clients: SocketClients;
}

export interface ControlParts {
  readonly host: OpenedHost;
  readonly gateway: Gateway;
  readonly outgoing: OutgoingBudget;
  /** Reads the config again. Throws a Fault. */
  readonly readConfig: () => LoadedConfig;
  readonly keepsKeys: boolean;
}

/** From now on commands and other windows reach this gateway. */
export async function startControl(
  instance: OwnInstance,
  { host, gateway, outgoing, readConfig, keepsKeys }: ControlParts,
): Promise<Control> {
  const [{ SocketClients }, { instanceOperations }, { isStoredKey }] = await Promise.all([
    import('../downstream/stdio/socket-clients.ts'),
    import('../instance/host-operations.ts'),
    import('../policy/keyed-records.ts'),
  ]);
  let end = () => {};
  const endAsked = new Promise<void>((resolve) => {
    end = resolve;
  });
  const { clock } = host;
  const clients = new SocketClients({ front: gateway, clock, outgoing, frameBytes: 16_777_216 });
  const identity = async () => {
    const { instance: id, startedBy } = host.status();
    const { version: program } = ownIdentity();
    if (!keepsKeys) return { program, instance: id, startedBy, keepsKeys };
    // Waits until the database is open: only then it is known whether it keeps anything.
    const keys = host.records('keys', { durability: 'durable', shape: isStoredKey });
    const isWhole = await keys.isWhole();
    return { program, instance: id, startedBy, keepsKeys: isWhole && host.status().disk.ok };
  };
  await instance.listen({
    clock,
    identity,
    operations: instanceOperations(host, { readConfig, shutdown: end }),
    serveClient: (socket, folder) => clients.add(socket, folder),
    caught: (error) => host.defects.caught('the control socket', error),
  });
  return { endAsked, clients };
}
