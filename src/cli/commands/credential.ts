// What `holdfast token` does for members of a fleet: credentials of the embedded broker, each bound to a mailbox.
// The secret is the only thing on standard output when one is added, so that a script can keep it.

import { isTokenName } from '../../downstream/http/access/token-record.ts';
import { Fault } from '../../kernel/fault.ts';
import { type BrokerPlace, brokerPlace, withCredentials } from '../broker-place.ts';
import {
  type AddedCredential,
  addCredential,
  type CredentialWish,
  listedCredential,
} from '../credential-book.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { oneAtATime } from '../one-at-a-time.ts';
import { durationText } from '../render/quantity.ts';
import { remark, type Shell } from '../shell.ts';
import { shellWord } from '../shell-word.ts';
import { loadedConfig } from '../standalone.ts';
import { lifetimeFrom } from '../token-lifetime.ts';
import { knownRole } from '../token-role.ts';

export interface CredentialOptions {
  readonly worker?: string;
  readonly orchestrator?: string;
  readonly role?: string;
  readonly name?: string;
  readonly to?: readonly string[];
  readonly expires?: string;
  readonly dir?: string;
}

/** Throws a Fault for options that do not fit together. */
export function isForBroker(options: CredentialOptions): boolean {
  const { worker, orchestrator, role, name, to, dir } = options;
  const isWorker = worker !== undefined;
  const isOrchestrator = orchestrator !== undefined;
  const wrong = [
    isWorker && isOrchestrator && '--worker and --orchestrator cannot be combined',
    isOrchestrator && role !== undefined && 'an orchestrator has no role: leave --role out',
    (isWorker || isOrchestrator) &&
      name !== undefined &&
      'a member of a fleet has the name that --worker or --orchestrator says: leave --name out',
    !isWorker && to !== undefined && '--to is for a worker: name it with --worker NAME',
    !(isWorker || isOrchestrator) &&
      dir !== undefined &&
      '--dir is for credentials of a broker: name a member with --worker NAME or --orchestrator NAME',
  ].find((words) => words !== false);
  if (wrong !== undefined) {
    throw new Fault('invalid_request', `${wrong}; see: holdfast token add --help`);
  }
  return isWorker || isOrchestrator;
}

export async function addForBroker(
  { shell, configFile, isJson }: Invocation,
  options: CredentialOptions,
): Promise<number> {
  const { worker, orchestrator = '', to = [], expires } = options;
  const place = await brokerPlace(shell, options.dir, configFile);
  const where = options.dir === undefined ? '' : ` --dir ${shellWord(place.folder)}`;
  const now = shell.clock.wallNow();
  const lifetime = expires === undefined ? undefined : lifetimeFrom(expires);
  const common = { now, where, expiresAt: lifetime === undefined ? null : now + lifetime };
  const wish: CredentialWish =
    worker === undefined
      ? { kind: 'orchestrator', name: orchestrator, role: null, to: [], ...common }
      : {
          kind: 'worker',
          name: worker,
          role: await roleOf(shell, configFile, options),
          to,
          ...common,
        };
  if (worker !== undefined && to.length === 0) {
    throw new Fault(
      'invalid_request',
      '--to is missing: a worker may write to the orchestrators that its credential names; name one with --to ORCHESTRATOR',
    );
  }
  const added = await oneAtATime(place.folder, shell.clock, () =>
    withCredentials(shell, place, (records) => addCredential(records, wish)),
  );
  const told = listedCredential(added.record);
  if (isJson) shell.out.json({ token: added.secret, ...told });
  else {
    shell.out.line(added.secret);
    const end = lifetime === undefined ? 'does not expire' : `expires in ${durationText(lifetime)}`;
    const whose =
      told.kind === 'worker'
        ? `worker '${told.name}' has the role '${told.role}', may write to ${told.to.join(', ')}`
        : `orchestrator '${told.name}'`;
    shell.err.line(
      shell.steps(
        `The credential of the ${whose}${told.kind === 'worker' ? ' and' : ''} ${end}. It is shown only now; end it with: holdfast token revoke ${told.name}${where}`,
      ),
    );
  }
  remarkMissing(shell, added, place, where);
  return exitCodes.ok;
}

function remarkMissing(
  shell: Shell,
  { missing }: AddedCredential,
  { folder }: BrokerPlace,
  where: string,
): void {
  if (missing.length === 0) return;
  const [name] = missing;
  remark(
    shell,
    `in ${folder} there is no credential of the orchestrator '${name}' yet; make it with: holdfast token add --orchestrator ${name}${where}`,
  );
}

/** A role of the config, where there is one; a broker may be on a machine without. */
async function roleOf(
  shell: Shell,
  configFile: string | undefined,
  { role, dir }: CredentialOptions,
): Promise<string> {
  const { locatedConfig } = await import('../../config/load.ts');
  if (dir === undefined || locatedConfig(configFile, shell.cwd, shell.env) !== undefined) {
    const { config, file } = await loadedConfig(shell, configFile);
    return knownRole(role, Object.keys(config.roles), file);
  }
  if (role === undefined) {
    throw new Fault(
      'invalid_request',
      '--role is missing: a worker may use what its role allows, so name one with --role ROLE',
    );
  }
  if (isTokenName(role)) return role;
  throw new Fault(
    'invalid_request',
    `'${role}' cannot be the name of a role: use 1 to 64 letters, digits, dots, underscores and hyphens`,
  );
}
