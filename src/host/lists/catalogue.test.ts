import { describe, expect, it } from 'vitest';
import { FakeUpstream } from '../../../test/support/fake-upstream.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { tool } from '../../../test/support/scripted-server.ts';
import { configFromObject } from '../../config/load.ts';
import type { ServerConfig } from '../../config/schema.ts';
import { bareClass } from '../connections/client-class.ts';
import { Catalogue } from './catalogue.ts';

const aim = { era: 'legacy', clients: bareClass } as const;

function newCatalogue(config: object = {}) {
  const input = { mcpServers: { s: { command: 'x', ...config } } };
  const { mcpServers } = configFromObject(input, { baseDir: '/', env: {} }).config;
  const clock = new ManualClock();
  const told: string[] = [];
  const catalogue = new Catalogue(aim, mcpServers['s'] as ServerConfig, clock, {
    listed: (tools, invalid, changed) => told.push(`${tools} -${invalid} [${changed.join()}]`),
    read: (kind, change) => told.push(`${kind} ${change}`),
  });
  const connection = new FakeUpstream('legacy', { prompts: {} });
  const load = async (...tools: unknown[]) => {
    const loading = catalogue.load(connection);
    connection.answer('tools/list', { tools });
    await loading;
    return told.splice(0);
  };
  const shown = () => catalogue.definitions('tools')?.map(({ key }) => key);
  return { catalogue, clock, connection, load, told, shown };
}

describe('what a server offers', () => {
  it('is unknown before it is read, and then every tool with its contract', async () => {
    const { catalogue, load } = newCatalogue({ trusted: true, tools: { w: { replay: 'safe' } } });
    expect([catalogue.offered, catalogue.definitions('tools'), catalogue.isFresh]).toEqual([
      undefined,
      undefined,
      false,
    ]);
    await load(tool('r', { annotations: { readOnlyHint: true } }), tool('w'), tool('n'));
    const contracts = ['r', 'w', 'n'].map((name) => catalogue.find(name)?.contract);
    expect(contracts).toMatchObject([
      { replay: 'safe', ground: 'annotation' },
      { replay: 'safe', ground: 'operator' },
      { replay: 'never' },
    ]);
    expect(catalogue.find('w')?.paramsHead).toBe('"name":"w","arguments":');
  });

  it('is reported as first, same and new, with the tools whose definition has changed', async () => {
    const { load } = newCatalogue();
    expect(await load(tool('a'), tool('b'))).toEqual(['2 -0 []', 'tools first']);
    expect(await load(tool('a'), tool('b'))).toEqual(['2 -0 []', 'tools same']);
    expect(await load(tool('a', { title: 'A' }), tool('c'))).toEqual(['2 -0 [a,b]', 'tools new']);
  });

  it('hides what the operator hides, and only that', async () => {
    const { catalogue, load, shown } = newCatalogue({ tools: { b: { hidden: true } } });
    await load(tool('a'), tool('b'), { name: 'bad' });
    expect([shown(), catalogue.find('b'), catalogue.lastKnown('b')]).toEqual([
      ['a'],
      undefined,
      undefined,
    ]);
  });

  it('is still shown when it is forgotten, but nothing is decided by it', async () => {
    const { catalogue, load, shown } = newCatalogue();
    await load(tool('a'));
    catalogue.forget();
    expect([catalogue.offered, catalogue.find('a'), catalogue.isFresh]).toEqual([
      undefined,
      undefined,
      false,
    ]);
    expect([shown(), catalogue.lastKnown('a')?.name]).toEqual([['a'], 'a']);
  });

  it('by an earlier run is shown and compared with, but not relied on', async () => {
    const before = newCatalogue();
    await before.load(tool('a'), tool('b'));
    const { catalogue, load, shown } = newCatalogue();
    catalogue.recall('tools', before.catalogue.lists.known('tools')?.definitions ?? []);
    expect([shown(), catalogue.offered, catalogue.isFresh]).toEqual([['a', 'b'], undefined, false]);
    expect(await load(tool('a'))).toEqual(['1 -0 [b]', 'tools new']);
    catalogue.recall('tools', []);
    expect(shown()).toEqual(['a']);
  });
});

describe('reading the tools when a connection is made', () => {
  it('does not fail with a server that cannot list them, and trusts nothing old then', async () => {
    const { catalogue, load, connection, clock, shown } = newCatalogue();
    await load(tool('a'));
    const refused = catalogue.tryLoad(connection);
    connection.answer('tools/list', { code: -32603, message: 'no' }, 'error');
    await refused;
    expect([catalogue.offered, shown(), clock.pending]).toEqual([undefined, ['a'], 0]);
  });

  it('waits ten seconds for one that hangs', async () => {
    const { catalogue, connection, clock } = newCatalogue();
    let isOver = false;
    void catalogue.tryLoad(connection).then(() => {
      isOver = true;
    });
    await clock.advanceAsync(9_999);
    expect(isOver).toBe(false);
    await clock.advanceAsync(1);
    expect([isOver, catalogue.offered, clock.pending]).toEqual([true, undefined, 0]);
  });
});
