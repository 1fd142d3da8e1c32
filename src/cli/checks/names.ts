// Checks of names: does every tool and prompt that servers list get to clients under its name? A tool that
// is not offered at all is something to repair; one that is only called otherwise, or looks like another,
// is worth knowing.

import type { Config } from '../../config/schema.ts';
import { keptConflicts } from '../../downstream/view/kept-conflicts.ts';
import type { HostForGateway } from '../../host/gateway-face.ts';
import { type Check, finding, note } from './check.ts';

/** By what the host has read of its servers, and what a gateway has kept of the others. */
export async function checkNames(host: HostForGateway, config: Config): Promise<readonly Check[]> {
  const conflicts = await keptConflicts(host, config);
  return conflicts.map(({ server, isRefused, text, remedy }) =>
    isRefused ? finding(server, text, remedy) : note(server, `${text}; to change it: ${remedy}`),
  );
}
