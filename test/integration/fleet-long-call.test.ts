// A call that runs for longer than its letter lives, on both brokers, with a gateway that is played by the test: the link
// of the orchestrator is cut meanwhile, and the letter does not come again. Its answer, and its news, come all the same.

import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { startEmbeddedBroker } from '../support/embedded-broker.ts';
import {
  type PlayedBroker,
  type PlayedFleet,
  playedRequest,
  startPlayedFleetOn,
} from '../support/played-fleet.ts';
import { playedNats } from '../support/played-nats.ts';
import { until } from '../support/until.ts';

const brokers: Readonly<Record<string, () => Promise<PlayedBroker>>> = {
  embedded: () => startEmbeddedBroker(),
  nats: playedNats,
};

const livesMs = 300;

/** A call that runs, and whose letter is over. */
async function runningLong(fleet: PlayedFleet<PlayedBroker>) {
  fleet.gateway.answer = undefined;
  const asked = fleet.ask(playedRequest('slow'), { ttlMs: livesMs });
  await until(() => fleet.gateway.runs.length === 1, 'it runs');
  const endsAt = systemClock.now() + livesMs;
  await until(() => systemClock.now() > endsAt, 'its letter is over');
  return asked;
}

describe.each(Object.entries(brokers))('a call that outlives its letter at %s', (_name, start) => {
  it('is answered by the next link of its orchestrator, after its news #broker-once', async () => {
    await using fleet = await startPlayedFleetOn(await start());
    const asked = await runningLong(fleet);
    await fleet.orchestratorLink.close();
    await fleet.newOrchestratorLink();
    fleet.gateway.runs[0]?.reply.send(['{"progress":1}']);
    await until(() => asked.news.length === 1, 'its news come');
    fleet.gateway.runs[0]?.reply.answer(['done']);
    expect(await asked.answer).toBe('done');
    expect(fleet.gateway.runs).toHaveLength(1);
  });

  it('is answered by the next link, when it ended while there was none #broker-once', async () => {
    await using fleet = await startPlayedFleetOn(await start());
    const asked = await runningLong(fleet);
    await fleet.orchestratorLink.close();
    fleet.gateway.runs[0]?.reply.answer(['done']);
    await fleet.newOrchestratorLink();
    expect(await asked.answer).toBe('done');
    expect(fleet.gateway.runs).toHaveLength(1);
  });
});
