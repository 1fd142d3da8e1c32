// A broker and an orchestrator of a run, for workers with different roles. Either can be killed and is started again
// where it was; when that began and was over is written down for the checker. What the orchestrator leaves behind
// when it is killed is looked for.

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { within } from '../client.ts';
import { EndsLog } from '../ends-log.ts';
import { configure, type GatewayHome, printed, startCommand, startListening } from '../gateway.ts';
import { allProcesses, below, mentions } from '../process-list.ts';
import { untilServed } from '../rollouts/served.ts';
import { orchestratorName } from '../servers.ts';
import { lasting } from '../survivors.ts';

/** What the roles of the workers may use. */
const roles = {
  wide: { allow: ['fcalm/*', 'fwide/*'] },
  wary: { allow: ['fcalm/*', 'fwary/*'] },
} as const;

export const workerRoles = [
  { worker: 'ann', role: 'wide', servers: ['fcalm', 'fwide'] },
  { worker: 'bob', role: 'wary', servers: ['fcalm', 'fwary'] },
] as const;

const stopMs = 20_000;

interface Orchestrator {
  readonly child: ChildProcess;
  /** Its own, which no worker uses. */
  readonly url: string;
}

interface BrokerTold {
  readonly url: string;
  readonly listen: string;
}

export class RemoteFleet {
  readonly home: GatewayHome;
  readonly #configFile: string;
  readonly ends: EndsLog;
  readonly #broker: BrokerTold;
  #brokerProcess: ChildProcess;
  #orchestrator: Orchestrator;
  #isClosed = false;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(
    home: GatewayHome,
    configFile: string,
    started: { broker: ChildProcess; told: BrokerTold; orchestrator: Orchestrator },
  ) {
    this.home = home;
    this.#configFile = configFile;
    this.ends = new EndsLog(home.folder, 'remote.jsonl');
    this.#broker = started.told;
    this.#brokerProcess = started.broker;
    this.#orchestrator = started.orchestrator;
  }

  static async start(run: GatewayHome, servers: object): Promise<RemoteFleet> {
    const home = { ...run, state: 'state-remote' };
    const configFile = configure(home, 'remote', servers, { roles });
    const add = async (name: string, words: readonly string[]) => {
      const said = await printed(home, ['token', 'add', ...words, '--config', configFile]);
      writeFileSync(credentialOf(home, name), said.split('\n')[0] ?? '', { mode: 0o600 });
    };
    await add(orchestratorName, ['--orchestrator', orchestratorName]);
    for (const { worker, role } of workerRoles) {
      await add(worker, ['--worker', worker, '--role', role, '--to', orchestratorName]);
    }
    const { child: broker, told } = await startBroker(home, configFile, '127.0.0.1:0');
    try {
      const orchestrator = await startOrchestrator(home, configFile, told.url);
      return new RemoteFleet(home, configFile, { broker, told, orchestrator });
    } catch (error) {
      broker.kill('SIGKILL');
      throw error;
    }
  }

  get url(): string {
    return this.#broker.url;
  }

  /** kill -9, and the next one at the same address. */
  killBroker(): Promise<void> {
    return this.#inTurn(() => this.#killBroker());
  }

  /** The same for the orchestrator; what is left of its servers two seconds later. */
  killOrchestrator(): Promise<readonly string[]> {
    return this.#inTurn(() => this.#killOrchestrator());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  async #killBroker(): Promise<void> {
    const over = this.ends.begin('broker');
    await killed(this.#brokerProcess);
    const { listen } = this.#broker;
    this.#brokerProcess = (await startBroker(this.home, this.#configFile, listen)).child;
    over();
  }

  async #killOrchestrator(): Promise<readonly string[]> {
    const { pid = 0 } = this.#orchestrator.child;
    const started = new Set(below(pid, allProcesses()).map((row) => row.pid));
    const over = this.ends.begin('orchestrator');
    await killed(this.#orchestrator.child);
    const left = await lasting(() =>
      allProcesses().filter(
        (one) => started.has(one.pid) && !one.isZombie && mentions(one.pid, [this.home.mark]),
      ),
    );
    this.#orchestrator = await startOrchestrator(this.home, this.#configFile, this.url);
    over();
    return left;
  }

  /** As a service manager ends them. */
  async close(report: (finding: string) => void): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const [name, child] of [
      ['orchestrator', this.#orchestrator.child],
      ['broker', this.#brokerProcess],
    ] as const) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      if (!(await within(stopMs, ended))) child.kill('SIGKILL');
      await ended;
      if (child.exitCode !== 0) report(`the ${name} ended with ${child.exitCode}, not with 0`);
    }
  }

  /** The pid-holder of the orchestrator; undefined while there is none. */
  get holder(): number | undefined {
    const { child } = this.#orchestrator;
    return child.exitCode === null && child.signalCode === null ? child.pid : undefined;
  }

  /** Resolves when the orchestrator answers at its own address. */
  servesAgain(): Promise<void> {
    return untilServed(this.#orchestrator.url);
  }

  async rollOut(): Promise<number | null> {
    const words = ['rollout', '--config', this.#configFile];
    const [code] = await once(startCommand(this.home, words), 'exit');
    return code;
  }

  /** What broker and orchestrators have said. */
  get said(): string {
    return readFileSync(join(this.home.folder, 'stderr-remote.txt'), 'utf8');
  }
}

/** The file of a credential. */
export function credentialOf({ folder }: GatewayHome, name: string): string {
  return join(folder, `credential-${name}`);
}

function startBroker(home: GatewayHome, configFile: string, listen: string) {
  const words = ['broker', '--config', configFile, '--listen', listen];
  return startListening<BrokerTold>(home, words);
}

async function startOrchestrator(
  home: GatewayHome,
  configFile: string,
  broker: string,
): Promise<Orchestrator> {
  const credential = credentialOf(home, orchestratorName);
  const words = ['serve', '--config', configFile, '--listen', '127.0.0.1:0'];
  const link = ['--broker', broker, '--as', orchestratorName];
  const { child, told } = await startListening<{ readonly url: string }>({ ...home, credential }, [
    ...words,
    ...link,
  ]);
  return { child, url: told.url };
}

async function killed(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
