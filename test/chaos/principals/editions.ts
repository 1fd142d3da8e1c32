// The roles of the config, as its edits change them: one is made wide and narrow again, one goes and comes
// back, and one, of the driver alone, is another each time, so that it shows which edition is in use. Beside the
// patterns stands, in full, which tools each role may use then: the checker is told that, and reads no pattern.

import { principalServers } from '../servers.ts';

export interface Edition {
  readonly number: number;
  /** May `toggled` use more than one tool? */
  readonly isWide: boolean;
  /** Is there a role `guest`? */
  readonly hasGuest: boolean;
}

export const firstEdition: Edition = { number: 0, isWide: true, hasGuest: true };

/** All that the fixture has; the second row is listed, and never called. */
const tools = [
  ...['echo', 'get', 'set', 'add', 'append', 'slow', 'cached'],
  ...['raw', 'received', 'whoami', 'fail', 'rpc_fail', 'notify', 'ask'],
];
const names = principalServers.map(({ name }) => name);

/** Whoever has this token calls until its budget is spent, and goes on asking. */
export const spenderName = 'spender';
/** `block`: at most so many are lost with a process that is killed, as docs/decisions/0022-budgets-of-roles.md has it. */
export const spenderBudget = { calls: 60, block: 1 };

interface Role {
  readonly allow: readonly string[];
  readonly deny?: readonly string[];
  readonly budget?: object;
  /** What that means: `server/tool`. */
  readonly may: readonly string[];
}

const every = (server: string) => tools.map((tool) => `${server}/${tool}`);

export function rolesOf({ number, isWide, hasGuest }: Edition): Readonly<Record<string, Role>> {
  const shown = probed(number);
  return {
    all: { allow: ['*'], may: names.flatMap(every) },
    narrow: {
      allow: ['rdocs/*', 'rfiles/e*', 'rfiles__cached'],
      deny: ['rdocs/app*'],
      may: [
        ...every('rdocs').filter((name) => name !== 'rdocs/append'),
        'rfiles/echo',
        'rfiles/cached',
      ],
    },
    toggled: isWide
      ? {
          allow: ['rdocs/echo', 'rfiles/*', 'rweb/*'],
          may: ['rdocs/echo', ...every('rfiles'), ...every('rweb')],
        }
      : { allow: ['rdocs/echo'], may: ['rdocs/echo'] },
    ...(hasGuest
      ? { guest: { allow: ['rweb/*', 'rdocs/add'], may: [...every('rweb'), 'rdocs/add'] } }
      : {}),
    spender: {
      allow: ['rcalm/add'],
      may: ['rcalm/add'],
      budget: { calls: spenderBudget.calls, per: 'principal' },
    },
    probe: { allow: [shown], may: [shown] },
  };
}

/** What the driver's own role may use in this edition, and in the ones before and after it may not. */
export function probed(number: number): string {
  return number % 2 === 0 ? 'rdocs/echo' : 'rdocs/get';
}

/** As they stand in the config. */
export function rolesInConfig(edition: Edition): object {
  const rows = Object.entries(rolesOf(edition)).map(
    ([name, { allow, deny = [], budget = null }]) => [name, { allow, deny, budget }],
  );
  return Object.fromEntries(rows);
}
