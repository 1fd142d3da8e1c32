// Several clients at once whose calls all ask back, on one legacy server of one gateway: everyone is
// asked its own questions and no other, and the answers find their way to the call that asked. All of
// them have the same token, which for modern clients is all that the gateway knows them by.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Door, type Gateway, GatewayFolder } from '../../support/gateway.ts';
import type { Json, MatrixClient } from './client.ts';
import { connectSdk1 } from './client-sdk-1.ts';
import { connectSdk2 } from './client-sdk-2.ts';
import { type FixtureServer, serverKinds, startServer } from './fixture-server.ts';

const sdk1 = { what: 'SDK 1', connect: connectSdk1 };
const legacy = { what: 'legacy SDK 2', connect: (door: Door) => connectSdk2(door, 'legacy') };
const modern = { what: 'modern', connect: (door: Door) => connectSdk2(door, 'modern') };

const pairs = (
  [
    [sdk1, sdk1],
    [legacy, sdk1],
    [modern, legacy],
    [modern, modern],
  ] as const
).map((kinds) => [`${kinds[0].what} and a ${kinds[1].what}`, kinds] as const);

/** To meet for the first time takes a gateway of its own; these stand for all. */
const strangers = pairs.filter(([who]) => !/legacy/.test(who));

const rounds = [1, 2, 3];

const servers = serverKinds
  .filter(({ era }) => era === 'legacy')
  .map((server) => [server.title, server] as const);

describe.each(servers)('%s #asked-client', (_title, server) => {
  let fixture: FixtureServer;
  let folder: GatewayFolder;

  beforeAll(async () => {
    fixture = await startServer(server);
    folder = await GatewayFolder.create();
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  const start = (isolation: string) =>
    folder.start({ mcpServers: { matrix: { ...fixture.entry, isolation } } });

  it.each(strangers)(
    'gives a %s client that meet it together no answer but their own',
    async (_who, kinds) => {
      await using gateway = await start('auto');
      await using clients = await connected(kinds, gateway);
      const outcomes = await Promise.allSettled([
        asks(clients.one, 'Ada'),
        asks(clients.other, 'Grace'),
      ]);
      for (const [at, outcome] of outcomes.entries()) {
        if (outcome.status === 'fulfilled') expect(outcome.value).toEqual(own[at]);
        // As long as it is not known that this server asks, nobody can know whose question it is.
        else expect(String(outcome.reason)).toContain('isolation');
      }
      const again = Promise.all([asks(clients.one, 'Ada'), asks(clients.other, 'Grace')]);
      expect(await again).toEqual(own);
      expect(foreign).toEqual([]);
    },
  );

  // A transport that shows whose question it is needs no isolation.
  const isolations = server.transport === 'stdio' ? ['auto', 'client'] : ['auto'];
  describe.each(isolations)('with isolation "%s"', (isolation) => {
    let gateway: Gateway;
    beforeAll(async () => {
      gateway = await start(isolation);
    });
    afterAll(async () => {
      await gateway?.[Symbol.asyncDispose]();
    });

    it.each(pairs)(
      'asks a %s client before either has answered, and gives each its own #asked-client',
      async (_who, kinds) => {
        await using clients = await connected(kinds, gateway);
        // Who has asked once is known to ask.
        await asks(clients.one, 'Ada');
        for (const _round of rounds) {
          const both = barrier(2);
          const answers = Promise.all([
            asks(clients.one, 'Ada', both),
            asks(clients.other, 'Grace', both),
          ]);
          expect(await answers).toEqual(own);
        }
        expect(foreign).toEqual([]);
      },
    );
  });
});

const own = [{ name: 'Ada' }, { name: 'Grace' }];

type Kind = (typeof pairs)[number][1][number];

async function connected([first, second]: readonly [Kind, Kind], { url }: Gateway) {
  const door = { kind: 'http', url } as const;
  const one = await first.connect(door);
  const other = await second.connect(door);
  const dispose = async () => {
    await one[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
  };
  return { one, other, [Symbol.asyncDispose]: dispose };
}

let calls = 0;

/** Questions that came to a client which had not called. */
const foreign: Json[] = [];

/** Calls a tool that asks for a name, and gives the name that the server was told. */
async function asks(
  client: MatrixClient,
  name: string,
  everybodyIsAsked: () => Promise<void> = async () => {},
): Promise<unknown> {
  const tag = `${name}-${++calls}`;
  client.conversation.answer = async ({ params }) => {
    if (!String(params['message']).includes(tag)) foreign.push(params);
    await everybodyIsAsked();
    return { action: 'accept', content: { name } };
  };
  const params = { name: 'matrix__ask_form', arguments: { tag } };
  const { structuredContent } = await client.request('tools/call', params);
  return (structuredContent as Json | undefined)?.['content'];
}

/** Resolves for all when as many have come. */
function barrier(count: number): () => Promise<void> {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  let come = 0;
  return () => {
    if (++come === count) open();
    return opened;
  };
}
