// Writes down, in the audit log, a request for something that does not exist for its principal. The
// client gets its answer first, the same as for a name that nobody has; only then it is found out whether
// there is such a thing and why it is hidden, so that neither the answer nor its time tells of it.

import { accessOf } from '../policy/method-access.ts';
import type { Gateway } from './gateway.ts';
import type { Incoming } from './incoming.ts';

/** After the answer was given. `name` is as the client wrote it. */
export function noteUnknown(
  { host, view }: Gateway,
  { principal, message }: Incoming,
  kind: 'tool' | 'prompt' | 'resource',
  name: string | undefined,
): void {
  const { audit, access } = host;
  if (audit === null || name === undefined) return;
  const { method = '' } = message;
  const owner = kind === 'resource' ? undefined : view.ownerOf(kind, name);
  if (owner === undefined) {
    const why = `no ${kind} that this principal may see has this name`;
    return audit.denied(principal, { server: null, kind, name, method }, why);
  }
  const { action } = accessOf(method);
  const verdict = access.may(principal, { action, kind, method, ...owner });
  const why = verdict.allow ? 'it is not offered to this client' : verdict.reason;
  audit.denied(principal, { ...owner, kind, method }, why);
}
