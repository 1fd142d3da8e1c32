// Makes the cells: every feature between every client and one kind of server, as tests whose titles
// are sentences. A gateway and its clients are started once and serve all features; what a feature
// leaves behind carries its tag.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Era } from '../../../src/wire/eras.ts';
import { type Door, type Gateway, GatewayFolder } from '../../support/gateway.ts';
import type { MatrixClient } from './client.ts';
import { connectSdk1 } from './client-sdk-1.ts';
import { connectSdk2 } from './client-sdk-2.ts';
import type { Cell, ClientKind, Feature } from './feature.ts';
import { askingFeatures } from './features/asking.ts';
import { callFeatures } from './features/calls.ts';
import { catalogueFeatures } from './features/catalogue.ts';
import { changeFeatures } from './features/changes.ts';
import { passingFeatures } from './features/passing.ts';
import { rawFeatures } from './features/raw.ts';
import { taskFeatures } from './features/tasks.ts';
import { type FixtureServer, type ServerKind, startServer } from './fixture-server.ts';
import { isImpossible } from './impossible.ts';
import { RawClient } from './raw-client.ts';

export const features: readonly Feature[] = [
  ...catalogueFeatures,
  ...callFeatures,
  ...askingFeatures,
  ...changeFeatures,
  ...passingFeatures,
  ...rawFeatures,
  ...taskFeatures,
];

/** How a kind of client connects. */
interface Connector extends ClientKind {
  readonly connect:
    | { readonly needs: 'sdk'; readonly to: (door: Door) => Promise<MatrixClient> }
    | { readonly needs: 'raw'; readonly to: (door: Door) => Promise<RawClient> };
}

const programs: readonly {
  readonly what: string;
  readonly era: Era;
  readonly connect: Connector['connect'];
}[] = [
  { what: 'legacy client (SDK 1)', era: 'legacy', connect: { needs: 'sdk', to: connectSdk1 } },
  {
    what: 'legacy client (SDK 2)',
    era: 'legacy',
    connect: { needs: 'sdk', to: (door) => connectSdk2(door, 'legacy') },
  },
  {
    what: 'modern client',
    era: 'modern',
    connect: { needs: 'sdk', to: (door) => connectSdk2(door, 'modern') },
  },
  {
    what: 'bare legacy client',
    era: 'legacy',
    connect: { needs: 'raw', to: (door) => RawClient.connect('legacy', door) },
  },
  {
    what: 'bare modern client',
    era: 'modern',
    connect: { needs: 'raw', to: (door) => RawClient.connect('modern', door) },
  },
];

export const connectors: readonly Connector[] = programs.flatMap(({ what, era, connect }) =>
  (['stdio', 'http'] as const).map((transport) => ({
    title: `a ${what} over ${transport === 'http' ? 'HTTP' : 'stdio'}`,
    era,
    transport,
    connect,
  })),
);

/** The name of the server in the gateway's config. */
const key = 'matrix';

/** All cells of one kind of server, through the gateway. */
export function matrixOf(server: ServerKind): void {
  let fixture: FixtureServer;
  let folder: GatewayFolder;
  let gateway: Gateway;

  beforeAll(async () => {
    fixture = await startServer(server);
    folder = await GatewayFolder.create();
    gateway = await folder.start(config());
  });
  afterAll(async () => {
    const code = await gateway?.stop();
    await fixture?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
    expect(code, 'the exit code of the gateway').toBe(0);
  });

  const config = () => ({ mcpServers: { [key]: fixture.entry } });
  const named = (name: string) => `${key}__${name}`;
  for (const connector of connectors) {
    const door = async (): Promise<Door> =>
      connector.transport === 'http'
        ? { kind: 'http', url: gateway.url }
        : folder.stdioDoor(config());
    cells(connector, server, { door, fixture: () => fixture, named, between: 'through' });
  }
}

/** The cells of one server and the clients of its own era and transport, without a gateway. */
export function bareCellsOf(server: ServerKind): void {
  let fixture: FixtureServer;
  beforeAll(async () => {
    fixture = await startServer(server);
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });
  const matching = connectors.filter(
    ({ era, transport }) => era === server.era && transport === server.transport,
  );
  for (const connector of matching) {
    const door = async () => fixture.door;
    const named = (name: string) => name;
    cells(connector, server, { door, fixture: () => fixture, named, between: 'with' });
  }
}

interface Place {
  readonly door: () => Promise<Door>;
  readonly fixture: () => FixtureServer;
  readonly named: (name: string) => string;
  readonly between: string;
}

let tags = 0;

function cells({ title, era, connect }: Connector, server: ServerKind, place: Place): void {
  describe(`${title} ${place.between} ${server.title}`, () => {
    let client: AsyncDisposable;
    beforeAll(async () => {
      client = await connect.to(await place.door());
    });
    afterAll(async () => {
      await client?.[Symbol.asyncDispose]();
    });
    for (const feature of features) {
      if (feature.needs !== connect.needs || isImpossible(feature.name, era, server.era)) continue;
      if (feature.isOurs && place.between === 'with') continue;
      it(`${title} ${feature.name} ${place.between} ${server.title}`, async () => {
        const cell = {
          client,
          server,
          probe: place.fixture().probe,
          tag: `t${process.pid}x${++tags}`,
          named: place.named,
        };
        // The kind of client was compared above; TypeScript cannot know that both agree.
        await feature.exercise(cell as Cell<MatrixClient> & Cell<RawClient>);
      }, 20_000);
    }
  });
}
