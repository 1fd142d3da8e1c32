// Writes down, in the audit log, a request for something that does not exist for its principal. The
// client gets its answer first, the same as for a name that nobody has. Whether there is such a thing, and
// why it is hidden, is found out only when the line is written, so that neither this answer nor the next
// one takes longer for a name that is hidden.

import type { Refusal } from '../host/call/call-audit.ts';
import { accessOf } from '../policy/method-access.ts';
import type { Principal } from '../policy/principal.ts';
import type { Gateway } from './gateway.ts';
import type { Incoming } from './incoming.ts';

/** After the answer was given. `name` is as the client wrote it. */
export function noteUnknown(
  gateway: Gateway,
  { principal, message }: Incoming,
  kind: 'tool' | 'prompt' | 'resource',
  name: string | undefined,
): void {
  const { audit } = gateway.host;
  if (audit === null || name === undefined) return;
  const asked = { kind, name: ownText(name), method: message.method ?? '' };
  const wish = { server: null, ...asked };
  audit.denied(principal, wish, () => refusalOf(gateway, principal, asked));
}

function refusalOf(
  { host, view }: Gateway,
  principal: Principal,
  asked: {
    readonly kind: 'tool' | 'prompt' | 'resource';
    readonly name: string;
    readonly method: string;
  },
): Refusal {
  const { kind, name, method } = asked;
  const owner = kind === 'resource' ? undefined : view.ownerOf(kind, name);
  if (owner === undefined) {
    const why = `no ${kind} that this principal may see has this name`;
    return { request: { server: null, ...asked }, why };
  }
  const { action } = accessOf(method);
  const verdict = host.access.may(principal, { action, kind, method, ...owner });
  const why = verdict.allow ? 'it is not offered to this client' : verdict.reason;
  return { request: { ...owner, kind, method }, why };
}

/** Longer than any name that there is, and than a line has room for. */
const longestName = 4_096;

/** A name from outside may have megabytes, and a part of a text holds on to all of it: so it is copied. */
function ownText(name: string): string {
  if (name.length <= longestName) return name;
  return Buffer.from(name.slice(0, longestName)).toString();
}
