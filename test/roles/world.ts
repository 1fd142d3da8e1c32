// The gateway of the tables of roles: in front of the servers of objects.ts, with the roles of roles.ts, after the
// local user has asked for all lists; and which words a role may hear of what it is told.

import { newGateway, settled } from '../support/fake-gateway.ts';
import { type readsAnything, scriptOf, serverNames, type Thing, tasks, things } from './objects.ts';
import { isAllowed } from './oracle.ts';
import { roles, rulesOf } from './roles.ts';
import { lists } from './ways.ts';

export type Ran = Pick<Thing, 'server' | 'kind' | 'name'>;

export const handlers = { sampling: {}, roots: {}, elicitation: {}, extensions: { [tasks]: {} } };

export async function newWorld(
  settings: object = {},
  change: typeof readsAnything = (_, script) => script,
) {
  const ran: Ran[] = [];
  const scripts = Object.fromEntries(
    serverNames.map((server) => [
      server,
      change(
        server,
        scriptOf(server, (at, kind, name) => ran.push({ server: at, kind, name })),
      ),
    ]),
  ) as Record<(typeof serverNames)[number], ReturnType<typeof scriptOf>>;
  const config = Object.fromEntries(serverNames.map((name) => [name, { trusted: true }]));
  const world = newGateway(scripts, { settings: { roles, hostTools: true, ...settings }, config });
  const local = world.legacy(handlers);
  const localModern = world.modern(handlers);
  for (const list of lists) local.request(list);
  for (const list of lists) localModern.request(list);
  for (let turn = 0; turn < 5; turn += 1) await settled();
  await world.clock.advanceAsync(2_000);
  await settled();
  return { ...world, ran, local, localModern };
}

/** The words that stand in a text; a server that is asked for something it does not have says others. */
export const wordsIn = (text: string) =>
  new Set((text.match(/word-[\w-]+?-end/g) ?? []).filter((word) => allWords.has(word)));
const allWords = new Set([
  ...things.map(({ word }) => word),
  ...serverNames.map((server) => `word-${server}-log-x-end`),
]);

/** Words that somebody with this role may hear. */
export const mayHear = (role: string | null) =>
  new Set(things.filter((one) => isAllowed(rulesOf(role), one)).map(({ word }) => word));

/** What may run for this role: a resource by its address, as the templates have it. */
export function mayRun(role: string | null, { server, kind, name }: Ran): boolean {
  const rules = rulesOf(role);
  return isAllowed(rules, { server, kind, name });
}
