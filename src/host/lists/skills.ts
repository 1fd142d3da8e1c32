// Skills (SEP-2640), as far as a relay needs them: which servers have them. A skill is a folder of
// resources with a list of digests that the client checks, so nothing of it may be changed.

import { isRecord } from '../../kernel/json-values.ts';
import { extensionNames } from '../../wire/eras.ts';

/** The skills capability of a server; undefined if it has none. */
export function skillsCapability(
  capabilities: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined {
  const { extensions } = capabilities;
  if (!isRecord(extensions) || !Object.hasOwn(extensions, extensionNames.skills)) return undefined;
  const declared = extensions[extensionNames.skills];
  return isRecord(declared) ? declared : undefined;
}
