// Broker, orchestrator and workers are killed with kill -9 at any moment, in an order of chance, and started again.
// When nobody kills them any more, the next call of every worker works, and what no role allows does still not exist.

import type { Dice } from '../../support/dice.ts';
import { pauseMs } from '../client.ts';
import { StdioClient } from '../client-stdio.ts';
import type { ClientRow } from '../clients.ts';
import type { Fleet } from '../fleet.ts';
import { nextCall } from '../instances/next-calls.ts';
import { remoteServers } from '../servers.ts';
import type { Tally } from '../tally.ts';

export interface RemoteHarmOptions {
  readonly fleet: Fleet;
  readonly workers: readonly ClientRow[];
  readonly dice: Dice;
  readonly tally: Tally;
  readonly isOver: AbortSignal;
}

const brokerKilled = 'kill -9 of the broker';
const orchestratorKilled = 'kill -9 of the orchestrator';
export const remoteKills = [brokerKilled, orchestratorKilled] as const;

const victims = ['broker', 'orchestrator', 'worker'] as const;

export class RemoteHarm {
  readonly #options: RemoteHarmOptions;
  #kills = 0;

  constructor(options: RemoteHarmOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { dice, isOver, workers, fleet } = this.#options;
    const asking = Promise.all(workers.map((row) => askForForbidden(row, fleet)));
    // Even the shortest run, on the busiest machine, has one.
    await pauseMs(dice.between(500, 4000));
    await this.#kill();
    while (!isOver.aborted) {
      await pauseMs(dice.between(500, 4000));
      if (!isOver.aborted) await this.#kill();
    }
    await asking;
  }

  async #kill(): Promise<void> {
    const { fleet, dice, tally, workers } = this.#options;
    // The first of each storm are one of each.
    const victim = victims[this.#kills] ?? dice.pick(victims);
    this.#kills += 1;
    if (victim === 'broker') {
      await fleet.remote.killBroker();
      tally.happened(brokerKilled);
    } else if (victim === 'orchestrator') {
      for (const orphan of await fleet.remote.killOrchestrator()) fleet.outlived(orphan);
      tally.happened(orchestratorKilled);
    } else {
      const { client } = dice.pick(workers);
      if (client instanceof StdioClient) await client.die();
      tally.happened('kill -9 of a worker');
    }
  }
}

export async function nextCallsOfWorkers(
  workers: readonly ClientRow[],
  fleet: Fleet,
): Promise<void> {
  const [calm] = remoteServers;
  if (calm === undefined) throw new Error('there is no server behind the orchestrator');
  await Promise.all(workers.map((row) => nextCall(row, calm, fleet)));
  await Promise.all(workers.map((row) => askForForbidden(row, fleet)));
}

/** A server that no role of a worker allows. */
async function askForForbidden({ name, client }: ClientRow, fleet: Fleet): Promise<void> {
  const shut = remoteServers.find(({ isForbidden }) => isForbidden === true);
  if (shut === undefined) throw new Error('there is no server that no worker may use');
  const seen = await client.call({ server: shut.name, tool: 'add', args: { key: 'k', amount: 1 } });
  // A worker that was killed meanwhile has heard nothing.
  if (seen === undefined || seen.kind === 'rpc-error' || seen.kind === 'fault') return;
  fleet.report(`[roles-deny] ${name} asked for what no role allows: ${JSON.stringify(seen)}`);
}
