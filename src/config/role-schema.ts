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

export const roleSchema = z.strictObject({
  allow: patterns.describe(
    'What may be used: `server/tool`, `server__tool`, `prompt:server/name`, `resource:server/uri`, each with `*` for any characters; `*` alone is everything. Empty: nothing.',
  ),
  deny: patterns.describe('What may not be used, although `allow` matches it; the same patterns.'),
  operator: z
    .boolean()
    .default(false)
    .describe(
      'May see the state, stderr and logs of the servers that it may use, and start, stop and reload them.',
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
