// Every role, every thing and every way to it: a generated table. Who may not use a thing never hears its
// word, nothing runs for it, and what it is answered is what a name that does not exist is answered.

import { describe, expect, it } from 'vitest';
import {
  ownMethod,
  readsAnything,
  scriptOf,
  serverNames,
  sharedUri,
  spellings,
  type Thing,
  things,
  thingsOf,
} from '../../test/roles/objects.ts';
import { isAllowed, seesServer } from '../../test/roles/oracle.ts';
import { everybody, roles, rulesOf } from '../../test/roles/roles.ts';
import { exposed, listedKinds as kinds, lists, type Way, ways } from '../../test/roles/ways.ts';
import { handlers, mayHear, mayRun, newWorld, wordsIn } from '../../test/roles/world.ts';
import {
  LegacyPeer,
  newGateway,
  type RecordedReply,
  settled,
} from '../../test/support/fake-gateway.ts';
import { type Cut, cutBy, type Principal, verifiedPrincipal } from '../policy/principal.ts';

type World = Awaited<ReturnType<typeof newWorld>>;
type Peer = ReturnType<World['legacy']> | ReturnType<World['modern']>;

/** Everything that was answered and sent. */
const heardIn = (reply: RecordedReply) => [...reply.sent, ...reply.answers].join('\n');

const principalOf = (role: string | null): Principal =>
  verifiedPrincipal(`token:${role}`, role, () => rulesOf(role)?.operator === true);

const cuts: readonly Cut[] = [
  ...serverNames.map((name) => ({ kind: 'server' as const, name })),
  { kind: 'server', name: 'constructor' },
  ...['everything', 'one-tool', 'all-but-write', 'nobody'].map((name) => ({
    ...{ kind: 'role' as const, name },
  })),
];

let cases = 0;

describe.each(everybody.map((role) => [role] as const))('the role %s', (role) => {
  const principal = principalOf(role);
  const allowed = mayHear(role);
  const nothingElse = (text: string) =>
    expect([...wordsIn(text)].filter((word) => !allowed.has(word))).toEqual([]);

  it('lists what it may use, all of it, and nothing else, in both eras #roles-deny', async () => {
    const world = await newWorld();
    const peers: [string, Peer][] = [
      ['legacy', world.legacy(handlers, principal)],
      ['modern', world.modern(handlers, { principal, key: principal.id })],
    ];
    for (const [era, peer] of peers) {
      for (const [at, method] of lists.entries()) {
        const reply = peer.request(method);
        await settled();
        await world.clock.advanceAsync(11_000);
        await settled();
        const heard = heardIn(reply);
        nothingElse(heard);
        for (const one of things.filter(({ kind }) => kind === kinds[at])) {
          cases += 1;
          expect(heard.includes(one.word), `${era} ${method} ${one.word}`).toBe(
            allowed.has(one.word),
          );
        }
      }
    }
  });

  it.each(['legacy', 'modern'] as const)(
    'reaches what it may use and nothing else: %s #roles-deny',
    async (era) => {
      const world = await newWorld();
      const peer =
        era === 'legacy'
          ? world.legacy(handlers, principal)
          : world.modern(handlers, { principal, key: principal.id });
      // Somebody who may do everything has done it before: cached, with keys, in flight.
      const { localModern, local, ran } = world;
      for (const way of ways) {
        for (const one of things.filter(({ kind }) => way.kinds.includes(kind))) {
          way.ask(era === 'legacy' ? local : localModern, exposed(one), one);
        }
        await settled();
      }
      await settled();
      ran.length = 0;
      for (const way of ways) {
        const own = things.filter(({ kind }) => way.kinds.includes(kind));
        const missing = way.ask(peer, missingName(way), missingThing(way));
        const replies = own.map((one) => [one, way.ask(peer, exposed(one), one)] as const);
        await settled();
        await world.clock.advanceAsync(3_000);
        await settled();
        for (const [one, reply] of replies) {
          cases += 1;
          const heard = heardIn(reply);
          nothingElse(heard);
          // Of an address that several servers have, it is one of those it may read.
          const words = own.filter(
            ({ name }) => name === one.name && one.kind !== 'tool' && one.kind !== 'prompt',
          );
          const isSeen = (words.length > 0 ? words : [one]).some(({ word }) => allowed.has(word));
          if (!isSeen) {
            expect(wordsIn(heard).size, `${way.title} ${one.word}: ${heard}`).toBe(0);
            if (!mayRun(role, { ...one, name: missingThing(way).name })) {
              expect(sameWords(heard, exposed(one), one), way.title).toBe(
                sameWords(heardIn(missing), missingName(way), missingThing(way)),
              );
            }
          } else if (isSeen && one.name !== 'ask' && one.name !== 'long') {
            expect(wordsIn(heard).size, `${era} ${way.title} ${one.word}: ${heard}`).toBe(1);
          }
        }
      }
      for (const one of ran) {
        const name = one.kind === 'template' ? `y://${one.server}/{n}` : one.name;
        const mayAddress = one.kind === 'template' && mayRun(role, one);
        expect(mayRun(role, { ...one, name }) || mayAddress, JSON.stringify(one)).toBe(true);
      }
    },
  );

  it('reads nothing that it may not read by writing its address in another way #roles-deny', async () => {
    const world = await newWorld({}, readsAnything);
    const { ran } = world;
    const peer = world.modern(handlers, { principal, key: principal.id });
    ran.length = 0;
    const replies = things
      .filter(({ kind }) => kind === 'resource')
      .flatMap(({ name, server }) => {
        const uris = spellings(name);
        return name === sharedUri ? uris.map((uri) => `holdfast:${server}:${uri}`) : uris;
      })
      .map((uri) => peer.request('resources/read', { uri }));
    await settled();
    await world.clock.advanceAsync(3_000);
    await settled();
    for (const reply of replies) {
      cases += 1;
      nothingElse(heardIn(reply));
    }
    for (const one of ran) expect(mayRun(role, one), JSON.stringify(one)).toBe(true);
    // A server is asked for other spellings by those who may read everything.
    if (role === 'everything') expect(ran.length).toBeGreaterThan(50);
  });

  it('completes nothing that it may not use by naming something else beside it #roles-deny', async () => {
    const world = await newWorld();
    const peer = world.modern(handlers, { principal, key: principal.id });
    const [prompts, templates] = (['prompt', 'template'] as const).map((wanted) =>
      things.filter(({ kind }) => kind === wanted),
    );
    const replies = (prompts ?? []).flatMap((prompt) =>
      (templates ?? []).flatMap(({ name: uri }) =>
        [
          { type: 'ref/prompt', name: exposed(prompt), uri },
          { type: 'ref/resource', uri, name: prompt.name },
          { type: 'ref/prompt', name: exposed(prompt), Name: 'q', Uri: uri },
          { type: 'ref/resource', name: exposed(prompt) },
          { type: 'ref/prompt', uri },
        ].map((ref) => peer.request('completion/complete', { ref, argument: { name: 'n' } })),
      ),
    );
    await settled();
    await world.clock.advanceAsync(3_000);
    await settled();
    for (const reply of replies) {
      cases += 1;
      expect(reply.answered.error, heardIn(reply)).toBeDefined();
      nothingElse(heardIn(reply));
    }
  });

  it('is told of the servers it may see, and of no other #roles-deny', async () => {
    const world = await newWorld();
    const modern = world.modern(handlers, { principal, key: principal.id });
    const peer = new LegacyPeer(world.gateway, principal);
    const greetings = [
      modern.request('server/discover'),
      peer.request('initialize', {
        ...{ protocolVersion: '2025-11-25', capabilities: {} },
        clientInfo: { name: 'x', version: '1' },
      }),
    ];
    for (const one of things.filter(({ kind }) => kind === 'tool')) {
      world.localModern.call(exposed(one));
    }
    await settled();
    const snapshots = ['health_snapshot', 'telemetry_snapshot'].flatMap((name) =>
      [{}, { detail: 'full' }].map((args) => modern.call(`holdfast__${name}`, args)),
    );
    await settled();
    for (const text of greetings.map(heardIn)) {
      nothingElse(text);
      for (const server of serverNames) {
        cases += 1;
        const { word } = thingsOf(server).find(({ kind }) => kind === 'instructions') as Thing;
        expect(text.includes(word), `${server}: ${text}`).toBe(allowed.has(word));
      }
    }
    for (const reply of snapshots) {
      const text = heardIn(reply);
      for (const server of serverNames) {
        cases += 1;
        if (!seesServer(rulesOf(role), server)) expect(text).not.toContain(server);
      }
      for (const one of things.filter(({ kind }) => kind === 'tool')) {
        cases += 1;
        if (!allowed.has(one.word)) expect(text).not.toContain(`${one.server}/${one.name}`);
      }
    }
  });

  it('cannot use what others have begun: tasks and questions #roles-deny', async () => {
    const world = await newWorld();
    const { localModern } = world;
    const peer = world.modern(handlers, { principal, key: principal.id });
    for (const server of serverNames) {
      const begun = localModern.call(`${server}__long`);
      const asked = localModern.call(`${server}__ask`);
      await settled();
      const taskId = String(begun.result['taskId']);
      for (const name of serverNames) expect(taskId).not.toContain(name);
      const { requestState } = asked.result as { requestState: string };
      const replies = [
        ...['tasks/get', 'tasks/update', 'tasks/cancel'].map((method) =>
          peer.request(method, { taskId, inputResponses: {} }),
        ),
        peer.call(`${server}__ask`, {}, { requestState, inputResponses: { one: { roots: [] } } }),
      ];
      await settled();
      for (const reply of replies) {
        cases += 1;
        expect(wordsIn(heardIn(reply)).size, heardIn(reply)).toBe(0);
        expect(reply.answered.error, heardIn(reply)).toBeDefined();
      }
    }
  });

  it('hears of changes only of what it may use #roles-deny', async () => {
    const world = await newWorld();
    const { legacy, servers, clock } = world;
    const peer = legacy(handlers, principal);
    const uris = things.filter(({ kind }) => kind === 'resource');
    for (const { name } of uris) peer.request('resources/subscribe', { uri: name });
    for (let turn = 0; turn < 4; turn += 1) await settled();
    await clock.advanceAsync(1_000);
    for (const server of serverNames) {
      peer.heard.length = 0;
      for (const child of servers[server].children) {
        for (const { name, word } of uris.filter((one) => one.server === server)) {
          child.note('notifications/resources/updated', { uri: name, _meta: { word } });
        }
        child.note('notifications/message', { level: 'error', data: `word-${server}-log-x-end` });
        child.note('notifications/tools/list_changed');
      }
      for (let turn = 0; turn < 30; turn += 1) await clock.advanceAsync(100);
      await settled();
      const heard = peer.heard.join('\n');
      cases += uris.length;
      expect([...wordsIn(heard)].filter((word) => !allowed.has(word))).toEqual([]);
    }
  });

  it('finds, describes and calls by searching only what it may use #roles-deny', async () => {
    const world = await newWorld({ surface: 'search' });
    const { ran } = world;
    const peer = world.modern(handlers, { principal, key: principal.id });
    ran.length = 0;
    const found = peer.call('search_tools', { query: 'word end tool read write', limit: 50 });
    await settled();
    await world.clock.advanceAsync(11_000);
    await settled();
    nothingElse(heardIn(found));
    for (const server of serverNames) {
      if (!seesServer(rulesOf(role), server)) expect(heardIn(found)).not.toContain(server);
    }
    for (const one of things.filter(({ kind }) => kind === 'tool')) {
      const name = exposed(one);
      const described = peer.call('describe_tool', { name });
      const called = peer.call('call_tool', { name, arguments: {} });
      await settled();
      for (const reply of [described, called]) {
        cases += 1;
        nothingElse(heardIn(reply));
        if (allowed.has(one.word)) continue;
        // A role that denies everything has not even the tools that search.
        const hasNone = allowed.size === 0;
        const told = hasNone ? 'Unknown tool' : `Unknown tool: ${name}`;
        expect(heardIn(reply)).toContain(told);
      }
      if (allowed.has(one.word)) expect(heardIn(described)).toContain(one.word);
    }
    for (const one of ran) expect(mayRun(role, one), JSON.stringify(one)).toBe(true);
  });

  it.each(cuts)('under the path %j has no more than without it #path-takes-away', async (cut) => {
    const world = await newWorld();
    const own = cutBy(principal, cut);
    const mayUse = (one: Thing) =>
      allowed.has(one.word) &&
      (cut.kind === 'server' ? one.server === cut.name : isAllowed(rulesOf(cut.name), one));
    const nameOf = (one: Thing) => (cut.kind === 'server' ? one.name : exposed(one));
    const modern = world.modern(handlers, { principal: own, key: own.id });
    for (const [peer, number] of [
      [modern, 0],
      [world.legacy(handlers, own), 1],
    ] as const) {
      const replies = lists.map((method) => peer.request(method));
      const called = things
        .filter(({ kind, name }) => kind === 'tool' && name !== 'ask' && name !== 'long')
        .map(
          (one) =>
            [
              one,
              peer.request('tools/call', { name: nameOf(one), arguments: { number } }),
            ] as const,
        );
      await settled();
      await world.clock.advanceAsync(11_000);
      await settled();
      for (const [at, reply] of replies.entries()) {
        for (const one of things.filter(({ kind }) => kind === kinds[at])) {
          cases += 1;
          expect(heardIn(reply).includes(one.word), `${lists[at]} ${one.word}`).toBe(mayUse(one));
        }
      }
      for (const [one, reply] of called) {
        cases += 1;
        // Under the path of one server its names are those of all servers.
        const mine = cut.kind === 'server' ? { ...one, server: cut.name as Thing['server'] } : one;
        const word = mine.word.replace(one.server, mine.server);
        const isUsable = allowed.has(word) && (cut.kind === 'server' || mayUse(one));
        expect([...wordsIn(heardIn(reply))], heardIn(reply)).toEqual(isUsable ? [word] : []);
      }
    }
  });

  it('starts no server of which it may use nothing #roles-deny', async () => {
    const scripts = Object.fromEntries(serverNames.map((name) => [name, scriptOf(name, () => {})]));
    const { legacy, modern, servers, clock } = newGateway(scripts, { settings: { roles } });
    for (const peer of [legacy(handlers, principal), modern(handlers, { principal, key: 'x' })]) {
      for (const method of lists) peer.request(method);
      for (const server of serverNames) {
        peer.request('tools/call', { name: `${server}__nothing` });
        peer.request('prompts/get', { name: `${server}__nothing` });
        peer.request('resources/read', { uri: `x://${server}/nothing` });
      }
      peer.request(ownMethod);
    }
    await settled();
    await clock.advanceAsync(12_000);
    await settled();
    for (const server of serverNames) {
      cases += 1;
      if (!seesServer(rulesOf(role), server)) expect(servers[server]?.children).toEqual([]);
    }
  });
});

describe('the table', () => {
  it('has enough cases', () => {
    expect(cases).toBeGreaterThan(10_000);
  });
});

function missingThing(way: Way): Thing {
  const [kind = 'tool'] = way.kinds;
  const names = { tool: 'nothing', prompt: 'nothing', template: 'y://nothing/{n}' };
  const name = (names as Record<string, string>)[kind] ?? 'x://nothing';
  return { server: 'alpha', kind, name, word: 'nothing' };
}

function missingName(way: Way): string {
  return exposed(missingThing(way));
}

/** With its own names and ids left out. */
function sameWords(heard: string, name: string, { name: own }: Thing): string {
  const [whole = '', bare = ''] = [name, own].map((one) => JSON.stringify(one).slice(1, -1));
  const told = [whole, bare].reduce((text, one) => text.replaceAll(` ${one}"`, ' NAME"'), heard);
  // A server echoes the name of what it does not have.
  return told
    .replaceAll(/word-[\w-]+?-end/g, 'WORD')
    .replaceAll(`"${whole}"`, '"NAME"')
    .replaceAll(/"id":\d+/g, '"id":0');
}
