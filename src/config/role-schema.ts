// The roles of the config: who besides the local user may use what. A role has patterns, as
// policy/roles/pattern.ts reads them; an empty `allow` allows nothing.

import * as z from 'zod';
import { patternProblem } from '../policy/roles/pattern.ts';

/** A role is named in paths and on command lines. */
const roleName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
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
  .max(Number.MAX_SAFE_INTEGER / 2)
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
      'May see the commands, stderr and details of failures of the servers that it may use; as the role of the local user (`local.role`) it may stop and restart them, too.',
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
        'The role of the local user, on stdio and for commands; null: everything. Tokens and the config stay its own.',
      ),
  })
  .prefault({})
  .describe('The local user.');
