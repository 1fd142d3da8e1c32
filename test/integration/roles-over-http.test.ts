// A part of the table of roles (src/downstream/roles-table.test.ts) over real HTTP, with the official clients of both
// eras: for each kind of role every kind of thing by every method, on the path for all, on that of a server and on
// that of a role, after somebody who may do everything has done it, so that results are cached and kept under keys. Who
// may not use a thing never hears its word, and nothing runs for it.

import { describe, expect, it } from 'vitest';
import type { Cut } from '../../src/policy/principal.ts';
import { ownMethod, serverNames, type Thing, things } from '../roles/objects.ts';
import { ask, Rights, told } from '../roles/rights.ts';
import { type Asks, exposed, listedKinds, lists, ways } from '../roles/ways.ts';
import { newWorld, wordsIn } from '../roles/world.ts';
import { principalsFront } from '../support/principals-front.ts';
import { until } from '../support/until.ts';
import type { Json, MatrixClient } from './matrix/client.ts';
import { connectSdk1 } from './matrix/client-sdk-1.ts';
import { connectSdk2 } from './matrix/client-sdk-2.ts';

/** One of each kind: all, none, by tool, prompt, address, server, with `deny`, the own tools, and one that is none. */
const chosen = [
  ...['everything', 'nothing', 'tools-of-alpha', 'one-tool', 'prompts-of-beta'],
  ...['resources-of-gamma', 'one-resource', 'whole-alpha', 'all-but-write', 'host-tools'],
  'constructor',
];

const paths: readonly (Cut | null)[] = [
  null,
  { kind: 'server', name: 'alpha' },
  { kind: 'role', name: 'all-but-write' },
];

const clients = [
  ['SDK 1.x', connectSdk1],
  ['SDK 2.x, modern', (door: Parameters<typeof connectSdk2>[0]) => connectSdk2(door, 'modern')],
] as const;

function addressOf(cut: Cut | null): string {
  if (cut === null) return '';
  return `/${cut.kind === 'server' ? 's' : 'r'}/${cut.name}`;
}

let cases = 0;

describe.each(clients)('over HTTP with the client of %s', (_, connect) => {
  it.each(chosen)(
    'the role %s reaches what it may use, and nothing else #roles-deny #path-takes-away',
    async (role) => {
      const world = await newWorld();
      const { clock, ran, servers } = world;
      const { url } = await principalsFront(world);
      /** The clock of the gateway goes on while a real client waits. */
      const answered = async <T>(work: PromiseLike<T>): Promise<T> => {
        let isSettled = false;
        const done = Promise.resolve(work).finally(() => {
          isSettled = true;
        });
        done.catch(() => {});
        const goesOn = async () => {
          await clock.advanceAsync(20);
          return isSettled;
        };
        await until(goesOn, 'an answer');
        return await done;
      };
      const connected = async (token: string, cut: Cut | null): Promise<MatrixClient> => {
        const headers = { authorization: `Bearer ${token}` };
        const client = await answered(
          connect({ kind: 'http', url: `${url}${addressOf(cut)}`, headers }),
        );
        client.conversation.answer = () => ({ roots: [] });
        return client;
      };
      /** All ways to all things, with what was told of each. */
      const askAll = async (client: MatrixClient, nameOf: (one: Thing) => string) => {
        const peer: Asks<Promise<Json>> = { request: (...words) => ask(client, ...words) };
        const asked = ways.flatMap((way) =>
          things
            .filter(({ kind, name }) => way.kinds.includes(kind) && name !== 'long')
            .map((one) => ({ way, one, text: told(way.ask(peer, nameOf(one), one)) })),
        );
        await answered(Promise.all(asked.map(({ text }) => text)));
        return await Promise.all(asked.map(async (row) => ({ ...row, text: await row.text })));
      };
      const local = await connected('local', null);
      const before = await askAll(local, exposed);
      expect(new Set(before.flatMap(({ text }) => [...wordsIn(text)])).size).toBeGreaterThan(25);
      const begun = world.localModern.call('alpha__long');
      await until(async () => {
        await clock.advanceAsync(20);
        return begun.answers.length > 0;
      }, 'a task');
      const taskId = String(begun.result['taskId']);

      for (const cut of paths) {
        const rights = new Rights(role, cut);
        const allowed = rights.words;
        const isThere = cut === null || serverNames.some((server) => rights.sees(server));
        if (!isThere) {
          await expect(connected(role, cut)).rejects.toThrow();
          continue;
        }
        ran.length = 0;
        const peer = await connected(role, cut);
        const heard: string[] = [];
        const nothingElse = (what: string, text: string) => {
          heard.push(text);
          const foreign = [...wordsIn(text)].filter((word) => !allowed.has(word));
          expect([what, foreign]).toEqual([what, []]);
        };
        for (const [at, method] of lists.entries()) {
          const text = await answered(told(ask(peer, method, {})));
          nothingElse(method, text);
          for (const one of things.filter(({ kind }) => kind === listedKinds[at])) {
            cases += 1;
            expect([method, one.word, text.includes(one.word)]).toEqual([
              ...[method, one.word, rights.may(one)],
            ]);
          }
        }
        const nameOf = (one: Thing) => rights.nameOf(one);
        for (const { way, one, text } of await askAll(peer, nameOf)) {
          const what = `${way.title} ${nameOf(one)}`;
          nothingElse(what, text);
          cases += 1;
          if (rights.may(one)) expect([what, wordsIn(text).size]).toEqual([what, 1]);
        }
        const visible = serverNames.filter((server) => rights.sees(server));
        const method = await answered(told(ask(peer, ownMethod, {})));
        nothingElse(ownMethod, method);
        const [only] = visible;
        const isForwarded =
          only !== undefined &&
          visible.length === 1 &&
          rights.may({ server: only, kind: 'method', name: ownMethod });
        expect([role, cut, wordsIn(method).size]).toEqual([role, cut, isForwarded ? 1 : 0]);
        // What somebody else has begun.
        for (const of of ['tasks/get', 'tasks/cancel', 'tasks/update', 'tasks/result']) {
          const text = await answered(told(ask(peer, of, { taskId, inputResponses: {} })));
          expect([of, wordsIn(text).size]).toEqual([of, 0]);
        }
        for (const name of ['health_snapshot', 'telemetry_snapshot']) {
          const params = { name: `holdfast__${name}`, arguments: { detail: 'full' } };
          const text = await answered(told(ask(peer, 'tools/call', params)));
          nothingElse(name, text);
          for (const server of serverNames.filter((one) => !rights.sees(one))) {
            expect([name, text.includes(`"${server}"`)]).toEqual([name, false]);
          }
        }
        // Changes of what it may not read are not told, whatever it has asked for.
        const resources = things.filter(({ kind }) => kind === 'resource');
        const watching = resources.map(({ name }) => peer.subscribe(name).catch(() => undefined));
        const watches = await answered(Promise.all(watching));
        for (const server of serverNames) {
          for (const child of servers[server].children) {
            for (const { name, word } of resources.filter((one) => one.server === server)) {
              child.note('notifications/resources/updated', { uri: name, _meta: { word } });
            }
            child.note('notifications/message', {
              level: 'error',
              data: `word-${server}-log-x-end`,
            });
          }
        }
        nothingElse('a list after the changes', await answered(told(ask(peer, 'tools/list', {}))));
        nothingElse('notifications', JSON.stringify(peer.conversation.notifications));
        await answered(Promise.all(watches.map((one) => one?.[Symbol.asyncDispose]())));
        await answered(peer[Symbol.asyncDispose]());
        for (const one of ran) {
          const name = one.kind === 'template' ? `y://${one.server}/{n}` : one.name;
          const isRight = rights.may({ ...one, name }) || rights.may(one);
          expect([cut, one, isRight]).toEqual([cut, one, true]);
        }
        expect(new Set(heard.flatMap((text) => [...wordsIn(text)])).size).toBeGreaterThanOrEqual(
          Math.min(1, allowed.size),
        );
      }
      await answered(local[Symbol.asyncDispose]());
    },
  );
});

describe('the table over HTTP', () => {
  it('has enough cases', () => {
    expect(cases).toBeGreaterThan(5_000);
  });
});
