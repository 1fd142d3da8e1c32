// The names and addresses of everything that principals of one scope may see. There is one for those who
// may see everything, which lasts and whose assigned names are stored; and one for each role, path or guarded
// principal that has asked lately. These begin with the names of the first, as far as they see the owners.

import type { NamingMode } from '../../catalog/naming.ts';
import type { Caller } from '../../host/connections/caller.ts';
import type { HostForGateway } from '../../host/gateway-face.ts';
import type { Server } from '../../host/servers/server.ts';
import { cutOf, type Principal } from '../../policy/principal.ts';
import type { GatewaySettings } from '../gateway.ts';
import { GivenNames, isNamesRecord } from './given-names.ts';
import type { KnownLists } from './known-lists.ts';
import { NameTable } from './name-table.ts';
import { ownToolNames } from './own-tools.ts';
import { ResourceView } from './resource-view.ts';
import { type Sight, sightOf, wholeSight } from './sight.ts';

export interface ScopeParts {
  readonly host: HostForGateway;
  readonly settings: GatewaySettings;
  readonly known: () => KnownLists;
}

export interface Scope {
  readonly tools: NameTable;
  readonly prompts: NameTable;
  readonly resources: ResourceView;
}

/** Of those who may see everything. */
export function wholeScope(parts: ScopeParts): Scope {
  const { host, settings, known } = parts;
  const records = host.records('names', { durability: 'forgetful', shape: isNamesRecord });
  const keptAs = (...kind: string[]) => new GivenNames(records, [host.configFile, ...kind]);
  const sight = wholeSight(host);
  const names = (kind: 'tool' | 'prompt') => ({
    ...tableParts(parts, sight, kind, settings.naming),
    kept: keptAs(kind, settings.naming),
  });
  return {
    tools: new NameTable(names('tool')),
    prompts: new NameTable(names('prompt')),
    resources: new ResourceView({ host, sight, known, kept: keptAs('resource') }),
  };
}

/** Of principals like this one. */
export function scopeFor(parts: ScopeParts, principal: Principal, whole: Scope): Scope {
  const { host, settings, known } = parts;
  const sight = sightOf(host, principal);
  // The path of one server has that server's own names.
  const isAlone = cutOf(principal)?.kind === 'server';
  const mode: NamingMode = isAlone ? 'transparent' : settings.naming;
  const names = (kind: 'tool' | 'prompt') => ({
    ...tableParts(parts, sight, kind, mode),
    ...(isAlone ? { reserved: () => none } : { given: whole[`${kind}s`].given }),
  });
  return {
    tools: new NameTable(names('tool')),
    prompts: new NameTable(names('prompt')),
    resources: new ResourceView({ host, sight, known, held: whole.resources.held }),
  };
}

const none: ReadonlySet<string> = new Set();

function tableParts(
  { host, settings, known }: ScopeParts,
  sight: Sight,
  kind: 'tool' | 'prompt',
  mode: NamingMode,
) {
  return {
    ...{ host, sight, kind, mode },
    reserved: () => (kind === 'tool' ? ownToolNames(settings) : none),
    learn: (caller: Caller, isCandidate: (server: Server) => boolean) =>
      known().learn(kind === 'tool' ? 'tools' : 'prompts', caller, isCandidate),
  };
}
