// holdfast role: what a role of the config may use, and why not, and what is spent of its budget; without a name,
// the roles there are. The lists of servers are those that are stored; nothing is started.

import type { Command } from 'commander';
import type { ReadConfig } from '../../config/load.ts';
import { nearestWord } from '../../config/nearest-word.ts';
import type { Config } from '../../config/schema.ts';
import { within } from '../../kernel/clock.ts';
import { Fault } from '../../kernel/fault.ts';
import { ownValue } from '../../kernel/own-value.ts';
import { printableLine } from '../../kernel/printable.ts';
import type { BudgetRules } from '../../policy/role-budgets/budget-rules.ts';
import type { BudgetStatus } from '../../policy/role-budgets/budget-status.ts';
import { Roles } from '../../policy/roles/roles.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { type KnownThings, knownThings, ownThings, useOf } from '../known-things.ts';
import { type RolePage, roleLines } from '../render/role-page.ts';
import { wrappedTo } from '../render/width.ts';
import { seconds } from '../seconds-option.ts';
import type { Shell } from '../shell.ts';
import { loadedConfig, orInterrupted, withHostOf } from '../standalone.ts';
import { instanceStatus } from '../target.ts';

const help = `
Every tool, prompt, resource, template and skill whose list is known is shown, with the reason for each
that the role may not use. No server is started unless --wait allows it: lists that were never read are named at
the end; --wait reads and keeps them. A pattern in "deny" that ends in /* denies the folder itself, too.
What is spent of its budget is told where an instance runs, as by: holdfast status. Counts of sessions are in no list.
With --json: {"role", "everything", "operator", "budget", "spent", "things": [{"server", "list", "name", "allowed",
"reason"}], "unknown": [{"server", "lists"}]}; "list" is tools, prompts, resources, resourceTemplates or skills, "reason"
is null if it is allowed. "spent" is null where no instance runs or there is no budget, or else a list as "budgets" of
holdfast status --json. Without a name: {"roles": [{"name", "everything", "operator", "allow", "deny"}]}.

Examples:
  holdfast role
  holdfast role researcher
  holdfast role researcher --wait 30`;

export function addRole(program: Command, perform: Perform): void {
  program
    .command('role')
    .summary('show what a role of the config may use, and why not')
    .description('Show what a role of the config may use, and why not; without a name, the roles.')
    .argument('[NAME]', 'a role')
    .option(
      '--wait <SECONDS>',
      'start servers whose lists are not known, and wait so long',
      seconds,
    )
    .addHelpText('after', help)
    .action((name: string | undefined, { wait }: { wait?: number }, command: Command) =>
      perform(command, (invocation) =>
        name === undefined ? listRoles(invocation) : showRole(invocation, name, wait),
      ),
    );
}

async function listRoles({ shell, configFile, isJson }: Invocation): Promise<number> {
  const { config, file } = await loadedConfig(shell, configFile);
  const { out } = shell;
  const decided = new Roles(config);
  const roles = Object.entries(config.roles).map(([name, { allow, deny, operator }]) => {
    return { name, everything: decided.isEverything(name), operator, allow, deny };
  });
  if (isJson) out.json({ roles });
  else if (roles.length === 0) {
    for (const line of wrappedTo(out.columns, noRoles(file))) out.line(printableLine(line));
  }
  for (const { name, everything, operator, allow, deny } of isJson ? [] : roles) {
    const facts = [
      everything ? 'everything' : `${allow.length} allowed, ${deny.length} denied patterns`,
      ...(operator ? ['operator'] : []),
    ];
    for (const line of wrappedTo(out.columns, `${name}: ${facts.join(' · ')}`)) out.line(line);
  }
  return exitCodes.ok;
}

async function showRole(
  invocation: Invocation,
  name: string,
  wait: number | undefined,
): Promise<number> {
  const { shell, configFile, isJson } = invocation;
  const loaded = await loadedConfig(shell, configFile);
  const { config, file } = loaded;
  assertRole(config, file, name);
  const known = await withHostOf(invocation, loaded, {}, async ({ gatewayHost }) => {
    if (wait === undefined) return await knownThings(gatewayHost);
    const { readLists } = await import('../read-lists.ts');
    const reading = gatewayHost
      .servers()
      .map((server) => readLists(gatewayHost, server.name, wait * 1_000));
    await orInterrupted(shell, within(shell.clock, wait * 1_000, Promise.all(reading)));
    return await knownThings(gatewayHost);
  });
  const spent = await spentOf(shell, loaded, name);
  const page = pageOf(config, name, known, { spent, now: shell.clock.wallNow() });
  const { out } = shell;
  if (!isJson) {
    for (const line of roleLines(page, out.style, out.columns)) out.line(shell.steps(line));
    return exitCodes.ok;
  }
  const { role, isEverything: everything, isOperator: operator, budget, unknown } = page;
  const things = page.things.map((thing) => ({ ...thing, allowed: thing.reason === null }));
  out.json({ role, everything, operator, budget, spent, things, unknown });
  return exitCodes.ok;
}

/** What the running instance tells of its budget; null if there is none, or no instance that can be asked. */
async function spentOf(
  shell: Shell,
  { config, file }: ReadConfig,
  role: string,
): Promise<readonly BudgetStatus[] | null> {
  if (!budgetOf(config, role)) return null;
  const status = await instanceStatus(shell, file);
  return status?.budgets?.filter((one) => one.role === role) ?? null;
}

function budgetOf({ roles }: Config, role: string): BudgetRules | null {
  return ownValue(roles, role)?.budget ?? null;
}

function pageOf(
  config: Config,
  role: string,
  { things, unknown }: KnownThings,
  spending: Pick<RolePage, 'spent' | 'now'>,
): RolePage {
  const roles = new Roles(config);
  return {
    role,
    isEverything: roles.isEverything(role),
    isOperator: roles.isOperator(role),
    budget: budgetOf(config, role),
    ...spending,
    things: [...things, ...ownThings(config)].map((thing) => ({
      ...thing,
      reason: roles.denial(role, useOf(thing)) ?? null,
    })),
    unknown,
  };
}

function assertRole({ roles }: Config, file: string | null, name: string): void {
  const known = Object.keys(roles);
  if (known.includes(name)) return;
  const near = nearestWord(name, known);
  const hint = near === undefined ? '' : `; did you mean '${near}'?`;
  const all = known.length === 0 ? noRoles(file) : `the roles of ${file} are: ${known.join(', ')}`;
  const told = `there is no role '${name}' in the config${hint}; ${all}`;
  throw new Fault('not_found', `${told}; see: holdfast role`);
}

function noRoles(file: string | null): string {
  return `${file} has no roles: only the local user has access; add one under "roles", such as "researcher": { "allow": ["docs/*"] }`;
}
