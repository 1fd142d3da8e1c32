// Several clients at once whose calls all ask back, on one legacy server of one gateway: everyone is
// asked its own questions and no other, and the answers find their way to the call that asked. All of
// them have the same token, which for modern clients is all that the gateway knows them by.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Door, type Gateway, GatewayFolder } from '../../support/gateway.ts';
import type { Json, MatrixClient } from './client.ts';
import { connectSdk1 } from './client-sdk-1.ts';
import { connectSdk2 } from './client-sdk-2.ts';
import { type FixtureServer, serverKind, startServer } from './fixture-server.ts';

const sdk1 = { what: 'SDK 1', connect: connectSdk1 };
const legacy = { what: 'legacy SDK 2', connect: (door: Door) => connectSdk2(door, 'legacy') };
const modern = { what: 'modern', connect: (door: Door) => connectSdk2(door, 'modern') };

const pairs = [
  [sdk1, sdk1],
  [legacy, sdk1],
  [modern, legacy],
  [modern, modern],
].map((kinds) => ({ kinds, who: kinds.map(({ what }) => what).join(' and a ') }));

const rounds = [1, 2, 3];

const programs = ['sdk-1-legacy', 'sdk-2-legacy'] as const;

describe.each(programs)('one %s server over stdio', (program) => {
  let fixture: FixtureServer;
  let folder: GatewayFolder;

  beforeAll(async () => {
    fixture = await startServer(serverKind(program, 'stdio'));
    folder = await GatewayFolder.create();
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  const start = (isolation: string) =>
    folder.start({ mcpServers: { matrix: { ...fixture.entry, isolation } } });

  it.each(pairs)(
    'gives a $who client that meet it together no answer but their own',
    async ({ kinds }) => {
      await using gateway = await start('auto');
      const clients = await connected(kinds, gateway);
      const names = ['Ada', 'Grace'];
      const outcomes = await Promise.allSettled(
        clients.map((one, at) => asks(one, names[at] ?? '')),
      );
      for (const [at, outcome] of outcomes.entries()) {
        // It may be refused, as long as nobody knows whose question it is.
        if (outcome.status === 'rejected') continue;
        expect([undefined, { name: names[at] }]).toContainEqual(outcome.value);
      }
      expect(foreign).toEqual([]);
      await Promise.all(clients.map((one) => one[Symbol.asyncDispose]()));
    },
  );

  describe.each(['auto', 'client'])('with isolation "%s"', (isolation) => {
    let gateway: Gateway;
    beforeAll(async () => {
      gateway = await start(isolation);
    });
    afterAll(async () => {
      await gateway?.[Symbol.asyncDispose]();
    });

    it.each(pairs)(
      'asks a $who client before either has answered, and gives each its own',
      async ({ kinds }) => {
        const clients = await connected(kinds, gateway);
        const [one, other] = clients as [MatrixClient, MatrixClient];
        // Who has asked once is known to ask.
        await asks(one, 'Ada');
        for (const _round of rounds) {
          const both = barrier(2);
          const answers = Promise.all([asks(one, 'Ada', both), asks(other, 'Grace', both)]);
          expect(await answers).toEqual([{ name: 'Ada' }, { name: 'Grace' }]);
        }
        expect(foreign).toEqual([]);
        await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
      },
    );
  });
});

type Kind = (typeof pairs)[number]['kinds'][number];

function connected(kinds: readonly Kind[], { url }: Gateway): Promise<MatrixClient[]> {
  return Promise.all(kinds.map(({ connect }) => connect({ kind: 'http', url })));
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
