// The roles of a config, by name. A role that is not there may do nothing.

import type { AccessRequest } from '../access.ts';
import type { BudgetRules } from '../role-budgets/budget-rules.ts';
import { Role, type RoleDenial, type RoleRules } from './role.ts';
import { type AliasConfig, ToolAliases } from './tool-aliases.ts';

export interface RolesConfig extends AliasConfig {
  readonly roles: Readonly<Record<string, RoleRules>>;
  readonly local: { readonly role: string | null };
}

export class Roles {
  /** By name; as many as the config has. */
  readonly #roles: ReadonlyMap<string, Role>;
  readonly #budgets: readonly (readonly [string, BudgetRules])[];
  /** The role of the local user; null: everything. */
  readonly localRole: string | null;

  constructor(config: RolesConfig) {
    const { roles, local } = config;
    const entries = Object.entries(roles);
    const aliases = new ToolAliases(config);
    this.#roles = new Map(entries.map(([name, rules]) => [name, new Role(name, rules, aliases)]));
    this.#budgets = entries.flatMap(([name, { budget }]) => (budget ? [[name, budget]] : []));
    this.localRole = local.role;
  }

  /** The config says nothing about who may do what. */
  get isEmpty(): boolean {
    return this.#roles.size === 0 && this.localRole === null;
  }

  denial(role: string | null, request: AccessRequest): RoleDenial {
    if (role === null) return 'the credential has no role';
    const rules = this.#roles.get(role);
    // The same work for a role that is not there: how long it takes must not tell which roles are.
    const denial = (rules ?? nobody).denial(request);
    return rules ? denial : `there is no role '${role}' in the config`;
  }

  /** The budgets, each with the name of its role. */
  budgets(): Iterable<readonly [string, BudgetRules]> {
    return this.#budgets;
  }

  isOperator(role: string | null): boolean {
    return this.#of(role)?.isOperator ?? false;
  }

  isEverything(role: string | null): boolean {
    return this.#of(role)?.isEverything ?? false;
  }

  /** The same for all that may do the same; undefined for a role that may do nothing. */
  scopeOf(role: string | null): string | undefined {
    return this.#of(role)?.scope;
  }

  #of(role: string | null): Role | undefined {
    return role === null ? undefined : this.#roles.get(role);
  }
}

/** Stands for every role that does not exist. */
const nobody = new Role('', { allow: [], deny: [], operator: false });

export const noRoles = new Roles({ roles: {}, local: { role: null } });
