// Skills (SEP-2640) as far as a relay has to know them: which servers have them. A skill is a folder of
// resources with a list of digests that the client checks, so nothing of it is touched on the way.

import { isRecord } from '../../upstream/classify.ts';

export const skillsExtension = 'io.modelcontextprotocol/skills';

/** What a server says of its skills; undefined if it has none. */
export function skillsCapability(
  capabilities: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined {
  const { extensions } = capabilities;
  if (!isRecord(extensions) || !Object.hasOwn(extensions, skillsExtension)) return undefined;
  const declared = extensions[skillsExtension];
  return isRecord(declared) ? declared : undefined;
}
