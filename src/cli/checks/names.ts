// Checks of names: do clients get every listed tool and prompt under its own name? A tool that is
// not offered at all is a problem; one that has another name, or looks like another, is a note.

import type { Config } from '../../config/schema.ts';
import { keptConflicts } from '../../downstream/view/kept-conflicts.ts';
import type { HostForGateway } from '../../host/gateway-face.ts';
import { type Check, finding, note } from './check.ts';

/** Uses the lists that the host has read, and the stored lists of the other servers. */
export async function checkNames(host: HostForGateway, config: Config): Promise<readonly Check[]> {
  const conflicts = await keptConflicts(host, config);
  return conflicts.map(({ server, isRefused, text, remedy }) =>
    isRefused ? finding(server, text, remedy) : note(server, `${text}; to change it: ${remedy}`),
  );
}
