// A gateway for a config that has been read: the instance, the host and the gateway are made, the config is
// followed, and clients are served in the way that was asked for. Loaded as a whole when a gateway is to run:
// each file that is loaded by itself costs about a millisecond at the start.

import { dirname, resolve } from 'node:path';
import { loadConfig, type ReadConfig } from '../../config/load.ts';
import type { LoadedConfig } from '../../config/loaded.ts';
import { Gateway } from '../../downstream/gateway.ts';
import type { Replica } from '../../downstream/replica.ts';
import type { Orchestrator } from '../../fleet/orchestrator/orchestrator.ts';
import type { CallObserver } from '../../host/call/call-observer.ts';
import type { OpenedHost } from '../../host/create-host.ts';
import { ownIdentity } from '../../host/identity.ts';
import { type Caught, ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { isNatsAddress } from '../../nats/nats-address.ts';
import { holderForRollout } from '../../rollout/holder-hands.ts';
import type { InstalledAtStart } from '../../rollout/installed-files.ts';
import type { ServingRollouts } from '../../rollout/serving-rollouts.ts';
import { reportedAtOnce } from '../command-failure.ts';
import { certificateIn } from '../commands/proxy.ts';
import type { ServeOptions } from '../commands/serve.ts';
import { disabledServers } from '../disabled-servers.ts';
import type { Invocation } from '../invocation.ts';
import { FailureLines } from '../render/failure-lines.ts';
import { detail, remark, type Shell } from '../shell.ts';
import { openHost } from '../standalone.ts';
import { ownStateDirectory, usableStateDirectory } from '../state-directory.ts';
import { assertStillApproved } from '../trust-records.ts';
import { letYoungGenerationGrow } from '../young-generation.ts';
import { ConfigInUse } from './config-in-use.ts';
import { followConfig } from './follow-config.ts';
import { loadAhead } from './load-ahead.ts';
import { claimedInstance } from './own-instance.ts';
import type { Replicas } from './replicas.ts';
import { Succession } from './rollout/succession.ts';
import { type WorkersTurn, workersOverRollouts, workersTurn } from './rollout/workers.ts';
import { openRollouts } from './rollouts.ts';
import { serveSocket } from './serve-socket.ts';
import { serveStreams } from './serve-streams.ts';
import { openSharedStore } from './shared-store.ts';
import { testHooks } from './test-hooks.ts';

/** The first requests come before what is not needed for them: the database takes a tenth of a second. */
const firstRequestsMs = 500;

export async function serveConfig(
  invocation: Invocation,
  loaded: ReadConfig,
  options: ServeOptions,
  installed: InstalledAtStart,
): Promise<number> {
  const { shell } = invocation;
  const readConfig = async () => {
    const file = loaded.file ?? undefined;
    const read = loadConfig({ file, cwd: shell.cwd, env: shell.env });
    const { sha256 } = read;
    if (file !== undefined) {
      await assertStillApproved(shell, { path: file, sha256 }, options.approved);
    }
    return read;
  };
  const inUse = new ConfigInUse(loaded, shell.clock, readConfig);
  const failures = new FailureLines();
  const caught = (error: unknown) => void host.defects.caught('a rollout', error);
  using succession = await successionOf(shell, loaded, options, caught);
  using rollouts = openRollouts(shell, inUse, caught, {
    installed,
    ...(succession && handsOf(succession)),
  });
  // A gateway keeps trying to use a directory that fails now.
  const usable = await usableStateDirectory(shell);
  const stateDir = await ownStateDirectory(shell);
  const startedBy = options.forConnect === undefined ? 'serve' : 'connect';
  const { store } = loaded.config;
  const keepsState = store !== 'memory';
  await using instance =
    options.stdio === true ? undefined : await claimedInstance(shell, loaded, usable, startedBy);
  await using shared =
    instance && isNatsAddress(store)
      ? await openSharedStore(shell, store, instance.place.config)
      : undefined;
  // One that serves a single client, or commands on this machine alone, is no replica.
  const isReplica = options.stdio !== true && options.forConnect === undefined;
  await using replicas = isReplica ? await replicasOf(loaded, shell) : undefined;
  let serves = () => {};
  const serving = new Promise<void>((resolve) => {
    serves = resolve;
  });
  const host = await openHost(shell, loaded, {
    gateway: {
      stateDir,
      database: instance && store === 'sqlite' ? instance.place.database : null,
      servesBroker: options.broker !== undefined || loaded.config.broker !== null,
      sharedStore: shared?.store,
      replicas: replicas ?? succession?.neighbours.holders,
      startedBy,
      rollout: succession?.store,
      rollouts,
      serving,
      holder: shell.holder,
    },
    onEvent: (event) => {
      replicas?.heard(event);
      const line = failures.lineFor(event);
      if (line !== undefined && !shell.logs('info')) remark(shell, line);
    },
  });
  shared?.defectsOf(host);
  try {
    await replicas?.join(host);
    succession?.restore(host, rollouts);
    await using gateway = gatewayFor(host, loaded, replicas ?? succession?.neighbours.replica);
    if (succession !== undefined) {
      const all = () => gateway.clientsHere;
      host.setClients({ all, find: (key) => gateway.clientOf(key) });
    }
    // From the moment in which it takes over, the holder tells this process what it told the former.
    if (succession !== undefined) followHolder(succession, shell, rollouts);
    await succession?.mayServe();
    instance?.take();
    for (const { name, cause, isSwitchedOff } of disabledServers(loaded)) {
      if (!isSwitchedOff) remark(shell, `${name} is disabled: ${cause}`);
    }
    const turn = workersTurn(succession);
    await using workers = await workersOf(
      shell,
      { host, gateway, keepsCalls: instance !== undefined, turn },
      loaded,
      options,
    );
    const { drainMs } = host.config;
    using _workers =
      succession && workersOverRollouts(succession, workers, { turn, clock: shell.clock, drainMs });
    const hooks = hooksOf(shell, rollouts);
    if (hooks !== undefined) host.observers.add(hooks);
    host.startPinned();
    using _watching = followConfig(shell, host, inUse, loaded.state);
    const ownsDatabase = instance !== undefined && keepsState;
    inUse.onTaken = () => rollouts.policyChanged();
    const afterFirstRequests = () => {
      letYoungGenerationGrow();
      serves();
      // What cannot be loaded now is tried again when it is needed. A successor has loaded it already.
      loadAhead(loaded.config, options.broker).catch(ignored);
    };
    const onServing = () => {
      shell.holder?.serving();
      succession?.arrival?.served().catch(caught);
      rollouts.serving();
      shell.clock.after(firstRequestsMs, afterFirstRequests, true);
    };
    const broker = () => workers?.state ?? null;
    const common = { host, gateway, loaded, invocation, instance, broker, replicas };
    const served = {
      ...common,
      shared: shared?.store,
      inUse,
      rollouts,
      succession,
      ownsDatabase,
      onServing,
    };
    return await reportedAtOnce(invocation, async () => {
      if (options.stdio === true) return await serveStreams(served);
      const { forConnect, listen } = options;
      if (forConnect !== undefined) return await serveSocket(served, Number(forConnect));
      const { serveHttp } = await import('./serve-http.ts');
      return await serveHttp(served, listen);
    });
  } finally {
    await host.close();
  }
}

/** Undefined where no holder has started this process. */
async function successionOf(
  shell: Shell,
  { config }: LoadedConfig,
  { broker }: ServeOptions,
  caught: Caught,
): Promise<Succession | undefined> {
  const { holder, clock } = shell;
  if (holder === undefined) return undefined;
  // What cannot be loaded is found before anything is taken over.
  if (holder.isSuccessor) {
    await Promise.all([
      import('../../host/create-host.ts'),
      import('./serve-http.ts'),
      import('./serve-broker.ts'),
      loadAhead(config, broker),
    ]);
  }
  const progress = (text: string) => detail(shell, text);
  return await Succession.open({ holder, clock, program: ownIdentity().version, caught, progress });
}

function handsOf(succession: Succession) {
  const { holder, history } = succession;
  const origin = { program: ownIdentity().version, instance: holder.instance };
  return {
    hands: { holder: holderForRollout(holder), handOver: succession },
    origin,
    ...(history && { history }),
  };
}

/** SIGHUP is a rollout, and the holder says how many processes still end their work. */
function followHolder({ holder }: Succession, shell: Shell, rollouts: ServingRollouts): void {
  shell.interrupt.onHangup(() => rollouts.request());
  shell.interrupt.arrived.then(() => rollouts.shutdown()).catch(ignored);
  holder.listen({ formers: (count) => rollouts.formers(count) });
}

/** The holder learns of a use by a message; without one nothing outlasts this process. */
function hooksOf({ env }: Shell, rollouts: ServingRollouts): CallObserver | undefined {
  return testHooks(env, {
    used: (name) => void process.send?.({ op: 'hook-used', name }),
    crash: () => process.kill(process.pid, 'SIGKILL'),
    rollOut: () => rollouts.request(),
  });
}

/** A gateway for one client serves no workers: it keeps nothing that a call of theirs could be answered from later. */
async function workersOf(
  shell: Shell,
  served: {
    readonly host: OpenedHost;
    readonly gateway: Gateway;
    /** It has a place where call ids outlive the process. */
    readonly keepsCalls: boolean;
    readonly turn: WorkersTurn;
  },
  { config, file }: LoadedConfig,
  { broker: url, as, tlsCa, stdio }: ServeOptions,
): Promise<Orchestrator | undefined> {
  const { broker } = config;
  if (tlsCa !== undefined && url === undefined && broker === null) {
    throw new Fault(
      'invalid_request',
      '--tls-ca is for a broker, and there is none: add --broker URL --as NAME, or "broker" to the config',
    );
  }
  if (stdio === true || (url === undefined && broker === null)) return undefined;
  assertRemembers(config);
  if (!served.keepsCalls) {
    remark(
      shell,
      'workers are not served: this gateway keeps no state, and a call of a worker would run again after a crash; mend the state directory, or give a config file, then start it again',
    );
    return undefined;
  }
  const { serveBroker } = await import('./serve-broker.ts');
  const ca = tlsCa === undefined ? undefined : certificateIn(shell, tlsCa);
  const named = broker?.tokenFile;
  const tokenFile = named && resolve(dirname(file ?? shell.cwd), named);
  if (url === undefined || as === undefined) {
    if (broker === null) return undefined;
    return await serveBroker(shell, served, { ...broker, ca, tokenFile }, served.turn);
  }
  // A credential is sent to the broker that it was made for, and to no other.
  const isSame = broker !== null && isSameAddress(broker.url, url);
  const address = { url, as, ca, tokenFile: isSame ? tokenFile : undefined };
  return await serveBroker(shell, served, address, served.turn);
}

/** Throws a Fault where calls of workers could run twice: their call ids would be forgotten with the process. */
function assertRemembers({ store }: LoadedConfig['config']): void {
  if (store !== 'memory') return;
  throw new Fault(
    'invalid_request',
    'a broker needs a "store" that is kept, and it is "memory": a call of a worker would run again after a crash of this gateway; remove "store" from the config, or set it to "sqlite" or a nats:// address',
  );
}

function isSameAddress(one: string, other: string): boolean {
  if (!URL.canParse(one) || !URL.canParse(other)) return false;
  return new URL(one).href === new URL(other).href;
}

/** Loaded only where there may be some. Throws a Fault. */
async function replicasOf(loaded: LoadedConfig, shell: Shell): Promise<Replicas | undefined> {
  if (!isNatsAddress(loaded.config.store)) return undefined;
  const { Replicas } = await import('./replicas.ts');
  return await Replicas.open(loaded, shell.clock, (problem) => remark(shell, problem));
}

function gatewayFor(
  host: OpenedHost,
  { config }: LoadedConfig,
  replica: Replica | undefined,
): Gateway {
  const { naming, surface, hostTools, listWaitMs } = config;
  return new Gateway({
    host,
    clock: host.clock,
    identity: ownIdentity(),
    settings: { naming, surface, hostTools, listWaitMs },
    replica,
  });
}
