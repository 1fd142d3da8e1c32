import { describe, expect, it } from 'vitest';
import { ManualClock, settled } from '../../../test/support/manual-clock.ts';
import { readDefinitions } from '../../catalog/definitions.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import type { Greeting } from '../../upstream/connection.ts';
import { classOf } from '../connections/client-class.ts';
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
  const clock = new ManualClock();
  const records = new MemoryStore({ clock }).records('catalogues', { durability: 'forgetful' });
  return { kept: new KeptCatalogues(records, clock), records, clock };
}

const toolText = '{"name":"t","inputSchema":{"type":"object"},"n":9007199254740993,"é":1.0}';

describe('a catalogue that is kept', () => {
  it('comes back byte for byte', async () => {
    const { kept } = newKept();
    const lists = new Map<ListKind, ReturnType<typeof definitions>>([
      ['tools', definitions(`[ ${toolText} ]`, 'tools')],
      ['resources', []],
    ]);
    const clients = classOf('{"roots":{},"extensions":{"x/y":{"a":[1]},"__proto__":{}}}');
    const aim = { era: 'legacy', clients } as const;
    await kept.update('hash', () => ({ classes: [{ aim, lists, greeting }], asks: true }));
    const { classes = [], asks } = (await kept.get('hash')) ?? {};
    const [back] = classes;
    const [tool] = back?.lists.get('tools') ?? [];
    expect(tool?.bytes.toString('utf8', tool.start, tool.end)).toBe(toolText);
    expect([...(back?.lists.keys() ?? [])]).toEqual(['tools', 'resources']);
    expect([back?.greeting, asks, back?.aim]).toEqual([greeting, true, aim]);
  });

  it('of a modern server is that of clients without capabilities, if an earlier Holdfast has written it #classes', async () => {
    const { kept, records } = newKept();
    const lists = { tools: `[${toolText}]` };
    const classes = ['legacy', 'modern'].map((era) => ({ era, features: ['roots'], lists }));
    await records.put('hash', { version: 2, classes, asks: false });
    const read = (await kept.get('hash'))?.classes ?? [];
    expect(read.map(({ aim }) => [aim.era, aim.clients.key])).toEqual([
      ['legacy', 'roots'],
      ['modern', ''],
    ]);
    expect(read.map((one) => one.lists.get('tools')?.length)).toEqual([1, 1]);
    await records.put('newer', { version: 4, classes, asks: false });
    expect(await kept.get('newer')).toBeUndefined();
  });

  it('is not waited for at the end when the disk hangs #drain', async () => {
    const clock = new ManualClock();
    const never = () => new Promise<never>(() => {});
    const records = new MemoryStore({ clock }).records('catalogues', { durability: 'forgetful' });
    const kept = new KeptCatalogues({ ...records, get: never, putIfAbsent: never }, clock);
    kept.update('hash', () => ({ classes: [], asks: false })).catch(() => {});
    let isSettled = false;
    const settling = kept.settled().then(() => {
      isSettled = true;
    });
    await settled();
    expect(isSettled).toBe(false);
    await clock.advanceAsync(3_000);
    await settling;
    expect(clock.pending).toBe(0);
  });

  it('of another spec is none', async () => {
    const { kept } = newKept();
    await kept.update('hash', () => ({ classes: [], asks: false }));
    expect(await kept.get('other')).toBeUndefined();
    expect(await kept.get('hash')).toEqual({ classes: [], asks: false });
  });

  it.each([
    null,
    5,
    'x',
    [],
    {},
    { version: 1, lists: {} },
    { version: 2 },
    { version: 2, classes: {} },
    { version: 2, classes: [null, 5, {}, { era: 'old', features: [], lists: {} }] },
    { version: 2, classes: [{ era: 'legacy', features: 'roots', lists: {} }] },
  ])('is none if what comes back from the disk is %j', async (record) => {
    const { kept, records } = newKept();
    await records.put('hash', record);
    const back = await kept.get('hash');
    expect(back?.classes ?? []).toEqual([]);
  });

  it.each(['', '[', '{}', '5', 'null', '[{"name":"t",', `[${toolText}`])(
    'loses a list that is damaged to %j, and no other',
    async (text) => {
      const { kept, records } = newKept();
      const lists = { tools: text, prompts: '[{"name":"p"}]', resources: 5 };
      const features = ['roots', 5, 'extension {', 'extension ["x"]'];
      const one = { era: 'legacy', features, lists, greeting: { era: 'old' } };
      await records.put('hash', { version: 2, classes: [one], asks: 'yes' });
      const { classes = [], asks } = (await kept.get('hash')) ?? {};
      const [back] = classes;
      expect([...(back?.lists.keys() ?? [])]).toEqual(['prompts']);
      expect([back?.greeting, asks]).toEqual([undefined, false]);
      expect(back?.aim.clients.key).toBe('roots');
    },
  );

  it('ends when nobody has read it for long, and stays as long as somebody does #no-growth', async () => {
    const { kept, records, clock } = newKept();
    const dayMs = 86_400_000;
    const catalogue = { classes: [], asks: false };
    for (let spec = 0; spec < 100; spec++) await kept.update(`${spec}`, () => catalogue);
    for (let month = 0; month < 12; month++) {
      clock.advance(30 * dayMs);
      expect(await kept.get('7')).toMatchObject({ asks: false });
      await settled();
    }
    expect((await records.entries()).map(({ key }) => key)).toEqual(['7']);
  });

  it('is not written again for being read again on the same day', async () => {
    const { kept, records, clock } = newKept();
    await kept.update('hash', () => ({ classes: [], asks: false }));
    const [before] = await records.entries();
    clock.advance(3_600_000);
    await kept.get('hash');
    await settled();
    expect(await records.entries()).toEqual([before]);
  });
});
