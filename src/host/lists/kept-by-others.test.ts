import { describe, expect, it } from 'vitest';
import { FakeUpstream } from '../../../test/support/fake-upstream.ts';
import { ManualClock, settled } from '../../../test/support/manual-clock.ts';
import { tool } from '../../../test/support/scripted-server.ts';
import { configFromObject } from '../../config/load.ts';
import type { ServerConfig } from '../../config/schema.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import type { Era } from '../../wire/eras.ts';
import { classOf } from '../connections/client-class.ts';
import type { Aim } from '../connections/connection-slot.ts';
import { ServerFacts } from '../servers/server-facts.ts';
import { KeptCatalogues } from './kept-catalogues.ts';
import { Offerings } from './offerings.ts';

const aimsIn = (era: Era) => ({
  roots: { era, clients: classOf('{"roots":{}}') },
  sampling: { era, clients: classOf('{"sampling":{}}') },
});
const { roots, sampling } = aimsIn('legacy');

/** Processes that store what they read of one server in the same place. */
function processes() {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const kept = new KeptCatalogues(store.records('catalogues', { durability: 'forgetful' }), clock);
  const verdicts = store.records('verdicts', { durability: 'forgetful' });
  const input = { mcpServers: { s: { command: 'x' } } };
  const { mcpServers } = configFromObject(input, { baseDir: '/', env: {} }).config;
  const config = mcpServers['s'] as ServerConfig;
  const begin = () => {
    const offerings = new Offerings({
      ...{ config, specHash: 'hash', clock, kept, asks: () => false, toolsRead: () => {} },
      facts: new ServerFacts(verdicts, 'hash', clock, () => {}),
      isHeld: () => true,
      gaveUp: () => {},
      caught: (error) => {
        throw error;
      },
      read: () => {},
      listChanged: () => {},
    });
    const reads = async (aim: Aim, ...names: readonly string[]) => {
      const connection = new FakeUpstream(aim.era, {});
      const loading = offerings.of(aim).catalogue.load(connection);
      connection.answer('tools/list', { tools: names.map((name) => tool(name)) });
      await loading;
      await settled();
    };
    return { offerings, reads };
  };
  const stored = async () =>
    Object.fromEntries(
      ((await kept.get('hash'))?.classes ?? []).map(({ aim, lists }) => [
        aim.clients.key,
        lists.get('tools')?.map(({ key }) => key),
      ]),
    );
  return { begin, stored };
}

describe('what several processes store of one server', () => {
  it('is the newest of each class: one that has read an older one does not bring it back #merged-lists', async () => {
    const { begin, stored } = processes();
    await begin().reads(roots, 'old');
    const command = begin();
    await command.offerings.recall();
    await begin().reads(roots, 'new', 'newer');
    await command.reads(sampling, 'other');
    expect(await stored()).toEqual({ roots: ['new', 'newer'], sampling: ['other'] });
    // What it reads itself is the newest.
    await command.reads(roots, 'newest');
    expect(await stored()).toEqual({ roots: ['newest'], sampling: ['other'] });
  });

  it.each(['legacy', 'modern'] as const)(
    'has the classes that only others have read in the %s era #merged-lists',
    async (era) => {
      const { begin, stored } = processes();
      const aims = aimsIn(era);
      const command = begin();
      await command.offerings.recall();
      await begin().reads(aims.roots, 'theirs');
      await command.reads(aims.sampling, 'own');
      expect(await stored()).toEqual({ roots: ['theirs'], sampling: ['own'] });
    },
  );
});
