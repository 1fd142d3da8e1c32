// What a role may use, object by object, with the reason for each no, and what is spent of its budget.

import type { ListKind } from '../../host/lists/listings.ts';
import { printableLine, printableName } from '../../kernel/printable.ts';
import type { BudgetRules } from '../../policy/role-budgets/budget-rules.ts';
import type { BudgetStatus } from '../../policy/role-budgets/budget-status.ts';
import type { UnknownLists } from '../known-things.ts';
import { budgetLines } from './budget-lines.ts';
import { sizeText } from './quantity.ts';
import type { Style } from './style.ts';
import { wrappedTo } from './width.ts';

export interface SeenThing {
  readonly server: string;
  readonly list: ListKind;
  readonly name: string;
  /** Why not; null if it is allowed. */
  readonly reason: string | null;
}

export interface RolePage {
  readonly role: string;
  readonly isEverything: boolean;
  readonly isOperator: boolean;
  /** Null: its calls are not counted. */
  readonly budget: BudgetRules | null;
  /** What is spent of it; null: not known, because no instance can be asked. */
  readonly spent: readonly BudgetStatus[] | null;
  /** Wall time. */
  readonly now: number;
  readonly things: readonly SeenThing[];
  readonly unknown: readonly UnknownLists[];
}

const words: Readonly<Record<ListKind, string>> = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  resourceTemplates: 'template',
  skills: 'skill',
};

export function roleLines(page: RolePage, style: Style, columns: number): string[] {
  const { role, things, unknown, isEverything, isOperator, budget } = page;
  const allowed = things.filter(({ reason }) => reason === null).length;
  const facts = [
    isEverything ? 'everything, also what comes later' : `${allowed} of ${things.length} allowed`,
    ...(isOperator ? ['operator'] : []),
    ...(budget === null ? [] : [budgetText(budget)]),
  ];
  const lines = [
    ...wrappedTo(columns, `${role}: ${facts.join(' · ')}`),
    ...spentLines(page, style, columns),
  ];
  for (const server of new Set(things.map((thing) => thing.server))) {
    lines.push('', style('bold', printableLine(server)));
    for (const thing of things) {
      if (thing.server === server)
        for (const line of thingLines(thing, style, columns)) lines.push(line);
    }
  }
  if (unknown.length > 0) lines.push('');
  for (const { server, lists } of unknown) {
    const told = `${server}: not known yet: ${lists.map((list) => `${words[list]}s`).join(', ')}; read them with: holdfast role ${role} --wait 30`;
    for (const line of wrappedTo(columns, printableLine(told))) lines.push(style('dim', line));
  }
  return lines;
}

/** Nothing if it is not known. */
function spentLines({ budget, spent, now }: RolePage, style: Style, columns: number): string[] {
  if (spent === null || budget === null || budget.per === 'session') return [];
  if (spent.length === 0) return ['', 'Nothing is spent of its budget'];
  // Whose role it is stands above.
  const budgets = spent.map((one) => ({ ...one, role: null }));
  return budgetLines({ status: { budgets }, now }, style, columns);
}

function budgetText({ calls, perMinute, bytes, per }: BudgetRules): string {
  const limits = [
    calls === null ? '' : `${calls} calls in total`,
    perMinute === null ? '' : `${perMinute} calls per minute`,
    bytes === null ? '' : `${sizeText(bytes)} of results`,
  ].filter((text) => text !== '');
  return limits.length === 0 ? 'no limits' : `budget of each ${per}: ${limits.join(', ')}`;
}

function thingLines({ list, name, reason }: SeenThing, style: Style, columns: number): string[] {
  const isAllowed = reason === null;
  const mark = isAllowed ? style('green', '✓') : style('red', '✗');
  const indent = '    ';
  const [first = '', ...rest] = wrappedTo(
    columns - indent.length,
    `${words[list]} ${printableName(name)}`,
  );
  const why = isAllowed ? [] : wrappedTo(columns - indent.length, printableLine(reason));
  return [
    `  ${mark} ${first}`,
    ...[...rest, ...why.map((line) => style('dim', line))].map((line) => indent + line),
  ];
}
