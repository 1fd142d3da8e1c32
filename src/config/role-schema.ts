// The roles of the config: who besides the local user may use what. A role has patterns, as
// policy/roles/pattern.ts reads them; an empty `allow` allows nothing.

import * as z from 'zod';
import { patternProblem } from '../policy/roles/pattern.ts';
import { shownWord } from './message-text.ts';
import { nearestWord } from './nearest-word.ts';

/** A role is named in paths and on command lines. */
const roleName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export const roleNameRule =
  'letters, digits, "_", "." and "-", beginning with a letter or a digit, at most 64 characters';
const maxPatterns = 1_000;
const maxPatternLength = 1_024;

const patterns = z
  .array(z.string().max(maxPatternLength))
  .max(maxPatterns)
  .superRefine((texts, context) => {
    const seen = new Set<string>();
    for (const [at, text] of texts.entries()) {
      const problem = patternProblem(text) ?? (seen.has(text) ? 'there twice' : undefined);
      seen.add(text);
      if (problem === undefined) continue;
      context.addIssue({ code: 'custom', path: [at], message: `is ${problem}` });
    }
  })
  .default([]);

const limit = z
  .int()
  .min(0)
  .max(2 ** 52)
  .nullable()
  .default(null);

const budgetSchema = z.strictObject({
  calls: limit.describe(
    'Calls in total, those that the cache answers included, counted from the first one until this budget is changed; null: no limit.',
  ),
  perMinute: limit.describe('Calls within any 60 seconds; null: no limit.'),
  bytes: limit.describe(
    'Bytes of all results together, counted as `calls`. The result that exceeds it is not given out. Null: no limit.',
  ),
  per: z
    .enum(['principal', 'role', 'session'])
    .default('principal')
    .describe(
      'Who shares one count: each `principal` has its own, all of the `role` have one, or each `session` (modern: each client) has one that ends with it.',
    ),
});

export const roleSchema = z.strictObject({
  allow: patterns.describe(
    'What may be used: `server/tool`, `server__tool`, `prompt:server/name`, `resource:server/uri`, each with `*` for any characters; `*` alone is everything. Empty: nothing.',
  ),
  deny: patterns.describe('What may not be used, although `allow` matches it; the same patterns.'),
  operator: z
    .boolean()
    .default(false)
    .describe(
      'May see the commands, causes and stderr of failures of the servers that it may use, in errors and in `health_snapshot`. As the role of the local user (`local.role`) it also reads their logs, stops and reloads them; over HTTP nothing more can be done with it.',
    ),
  budget: budgetSchema
    .nullable()
    .default(null)
    .describe(
      'How much holders of this role may call; null: without limit. What is spent outlives a restart. A changed budget begins at zero.',
    ),
});

export const rolesSchema = z
  .record(z.string().regex(roleName), roleSchema)
  .default({})
  .describe(
    'What holders of tokens may use, by role. A token whose role is not here may use nothing.',
  );

export const localSchema = z
  .strictObject({
    role: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe(
        'The role of the local user: what its MCP clients and the commands that use servers may use; null: everything. The commands logs, stop and reload SERVER need `operator` in it. The config, tokens and the gateway as a whole are not limited by it.',
      ),
  })
  .prefault({})
  .describe('The local user.');

/** A local user without any rights would be a surprise: a misspelt name is an error. */
export function knownLocalRole(
  { local, roles }: { readonly local: { readonly role: string | null }; readonly roles: object },
  context: z.RefinementCtx,
): void {
  const { role } = local;
  if (role === null || Object.hasOwn(roles, role)) return;
  const near = nearestWord(role, Object.keys(roles));
  const hint =
    near === undefined ? 'add it there, or set null' : `did you mean ${shownWord(near)}?`;
  const message = `is ${shownWord(role)}, and "roles" has no such role: ${hint}`;
  context.addIssue({ code: 'custom', path: ['local', 'role'], message });
}
