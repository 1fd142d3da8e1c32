import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { readDefinitions } from '../catalog/definitions.ts';
import { MemoryStore } from '../store/memory.ts';
import type { Greeting } from '../upstream/connection.ts';
import { KeptCatalogues } from './kept-catalogues.ts';
import type { ListKind } from './listings.ts';

const greeting: Greeting = {
  era: 'modern',
  protocolVersion: '2026-07-28',
  serverInfo: { name: 's' },
  capabilities: { tools: {} },
  instructions: 'Be kind.',
};

function definitions(text: string, kind: ListKind) {
  const bytes = Buffer.from(text);
  return readDefinitions(bytes, { start: 0, end: bytes.length }, kind).definitions;
}

function newKept() {
  const collection = new MemoryStore({ clock: new ManualClock() }).collection('catalogues');
  return { kept: new KeptCatalogues(collection), collection };
}

const toolText = '{"name":"t","inputSchema":{"type":"object"},"n":9007199254740993,"é":1.0}';

describe('a catalogue that is kept', () => {
  it('comes back byte for byte', async () => {
    const { kept } = newKept();
    const lists = new Map<ListKind, ReturnType<typeof definitions>>([
      ['tools', definitions(`[ ${toolText} ]`, 'tools')],
      ['resources', []],
    ]);
    await kept.put('hash', { lists, greeting, asks: true });
    const back = await kept.get('hash');
    const [tool] = back?.lists.get('tools') ?? [];
    expect(tool?.bytes.toString('utf8', tool.start, tool.end)).toBe(toolText);
    expect([...(back?.lists.keys() ?? [])]).toEqual(['tools', 'resources']);
    expect([back?.greeting, back?.asks]).toEqual([greeting, true]);
  });

  it('of another spec is none', async () => {
    const { kept } = newKept();
    await kept.put('hash', { lists: new Map(), greeting: undefined, asks: false });
    expect(await kept.get('other')).toBeUndefined();
    expect(await kept.get('hash')).toMatchObject({ greeting: undefined, asks: false });
  });

  it.each([
    null,
    5,
    'x',
    [],
    {},
    { version: 2, lists: {} },
    { version: 1 },
    { version: 1, lists: [] },
  ])('is none if what comes back from the disk is %j', async (record) => {
    const { kept, collection } = newKept();
    await collection.put('hash', record);
    const back = await kept.get('hash');
    expect(back?.lists.size ?? 0).toBe(0);
  });

  it.each(['', '[', '{}', '5', 'null', '[{"name":"t",', `[${toolText}`])(
    'loses a list that is damaged to %j, and no other',
    async (text) => {
      const { kept, collection } = newKept();
      const lists = { tools: text, prompts: '[{"name":"p"}]', resources: 5 };
      await collection.put('hash', { version: 1, lists, greeting: { era: 'old' }, asks: 'yes' });
      const back = await kept.get('hash');
      expect([...(back?.lists.keys() ?? [])]).toEqual(['prompts']);
      expect([back?.greeting, back?.asks]).toEqual([undefined, false]);
    },
  );
});
