// The local user with a role ("local" in the config) over stdio, with the official clients of both eras, the built
// gateway and servers as processes: it lists, reaches and starts what the role may use, and nothing else.

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { serverNames, type Thing, things } from '../roles/objects.ts';
import { ask, Rights, told } from '../roles/rights.ts';
import { roles } from '../roles/roles.ts';
import { exposed, listedKinds, lists, ways } from '../roles/ways.ts';
import { wordsIn } from '../roles/world.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import type { Json } from './matrix/client.ts';
import { connectSdk1 } from './matrix/client-sdk-1.ts';
import { connectSdk2 } from './matrix/client-sdk-2.ts';

const program = fileURLToPath(new URL('../roles/server-main.ts', import.meta.url));
const loader = import.meta.resolve('tsx');

const clients = [
  ['SDK 1.x', connectSdk1],
  ['SDK 2.x, modern', (door: Parameters<typeof connectSdk2>[0]) => connectSdk2(door, 'modern')],
] as const;

describe.each(clients)('over stdio with the client of %s', (_, connect) => {
  it.each(['tools-of-alpha', 'one-resource', 'all-but-write', 'nothing'])(
    'the role %s reaches what it may use, and nothing else #roles-deny',
    async (role) => {
      await using home = await GatewayHome.create();
      const ranFile = home.file('ran.jsonl');
      const entry = (name: string) => ({
        ...{ command: process.execPath, args: ['--import', loader, program, name, ranFile] },
        trusted: true,
      });
      const mcpServers = Object.fromEntries(serverNames.map((name) => [name, entry(name)]));
      await home.configure({ mcpServers, roles, local: { role } });
      await using peer = await connect({ kind: 'stdio', ...home.stdioCommand, env: home.env });
      peer.conversation.answer = () => ({ roots: [] });
      const rights = new Rights(role, null);
      const allowed = rights.words;
      const nothingElse = (what: string, text: string) => {
        const foreign = [...wordsIn(text)].filter((word) => !allowed.has(word));
        expect([what, foreign]).toEqual([what, []]);
      };
      for (const [at, method] of lists.entries()) {
        const text = await told(ask(peer, method, {}));
        nothingElse(method, text);
        for (const one of things.filter(({ kind }) => kind === listedKinds[at])) {
          expect([method, one.word, text.includes(one.word)]).toEqual([
            ...[method, one.word, rights.may(one)],
          ]);
        }
      }
      const asks = { request: (...words: [string, Json]) => ask(peer, ...words) };
      for (const way of ways) {
        const own = things.filter(({ kind, name }) => way.kinds.includes(kind) && name !== 'long');
        const texts = await Promise.all(own.map((one) => told(way.ask(asks, exposed(one), one))));
        for (const [at, one] of own.entries()) {
          const [what, text] = [`${way.title} ${exposed(one)}`, texts[at] ?? ''];
          nothingElse(what, text);
          if (rights.may(one)) expect([what, wordsIn(text).size]).toEqual([what, 1]);
        }
      }
      const ran = existsSync(ranFile) ? readFileSync(ranFile, 'utf8').trim().split('\n') : [];
      for (const line of ran) {
        const one = JSON.parse(line) as Pick<Thing, 'server' | 'kind' | 'name'>;
        const name = one.kind === 'template' ? `y://${one.server}/{n}` : one.name;
        expect([line, rights.may({ ...one, name }) || rights.may(one)]).toEqual([line, true]);
      }
      expect(ran.length > 0).toBe(allowed.size > 0);
    },
  );
});
