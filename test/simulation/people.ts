// Who calls, and what each may: the local user and three strangers, and a guard drawn from the seed
// that keeps whole servers and single tools from some of them. It says no in every way a guard can:
// with a reason, without a verdict, with a promise, or by throwing. In some runs there is no guard, and then
// only the local user may do anything.

import type { Guard, Verdict } from '../../src/policy/access.ts';
import { localUser, type Principal } from '../../src/policy/principal.ts';
import type { Dice } from './random.ts';

export interface People {
  readonly all: readonly [Principal, ...Principal[]];
  readonly guard: Guard | null;
  /** What is really so, whoever asks; a null tool is the server as a whole. */
  mayUse(principal: Principal, server: string, tool: string | null): boolean;
}

const strangers: readonly Principal[] = [
  { id: 'token:ann', role: 'reader' },
  { id: 'token:bob', role: null },
  // Called almost like the local user, which does not make it one.
  { id: 'user:local', role: null },
];

export function drawPeople(
  dice: Dice,
  servers: readonly string[],
  tools: readonly string[],
): People {
  const all: [Principal, ...Principal[]] = [localUser, localUser, ...strangers];
  const isGuarded = dice.chance(0.85);
  const refused = new Map<string, number>();
  for (const { id } of strangers) {
    for (const server of servers) {
      const isShut = dice.chance(0.1);
      if (isShut) refused.set(`${id} ${server}`, dice.between(0, 3));
      for (const tool of tools) {
        if (isShut || dice.chance(0.15)) refused.set(`${id} ${server}/${tool}`, dice.between(0, 3));
      }
    }
  }
  const refusalOf = ({ id }: Principal, server: string, tool: string | null) =>
    refused.get(tool === null ? `${id} ${server}` : `${id} ${server}/${tool}`);
  const mayUse = (principal: Principal, server: string, tool: string | null) =>
    principal === localUser || (isGuarded && refusalOf(principal, server, tool) === undefined);
  const guard: Guard = (principal, server, tool) => {
    const form = principal === localUser ? undefined : refusalOf(principal, server, tool);
    return form === undefined ? { allow: true } : no(form);
  };
  return { all, guard: isGuarded ? guard : null, mayUse };
}

/** The ways of plain JavaScript to say something else than yes. */
function no(form: number): Verdict {
  if (form === 0) return { allow: false, reason: 'not for you' };
  if (form === 1) throw new Error('the guard has lost its list');
  const odd: unknown = form === 2 ? undefined : Promise.resolve({ allow: true });
  return odd as Verdict;
}
