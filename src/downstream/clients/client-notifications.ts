// Forwards a client's notifications that name no server (changed roots, or any other): to the
// connections that are reserved for this client; if there is only one server, to that one.

import { notificationAccess } from '../../policy/method-access.ts';
import type { Principal } from '../../policy/principal.ts';
import type { Message } from '../../wire/scan.ts';
import type { Gateway } from '../gateway.ts';
import { relayedParams } from '../relay/relayed-params.ts';

/** `client` is the key of the client. */
export function passOn(
  { host, view }: Pick<Gateway, 'host' | 'view'>,
  message: Message,
  client: string,
  principal: Principal,
): void {
  const { method = '' } = message;
  const params = relayedParams(message, {});
  const isOwnAffair = method === 'notifications/roots/list_changed';
  const only = isOwnAffair ? undefined : view.onlyServer(principal);
  const { action, kind } = notificationAccess;
  for (const { name, slots } of host.servers()) {
    const request = { action, server: name, kind, name: method, method };
    if (!host.access.isAllowed(principal, request)) continue;
    const own = slots.usedOnlyBy(client);
    // The shared one may belong, or have belonged, to another client; a client with a reserved connection is
    // forwarded only there.
    const isOpen = !slots.isTaken(slots.current, undefined);
    const isShared = own.length === 0 && name === only && isOpen;
    const meant = isShared ? [slots.current] : own;
    for (const { supervisor } of meant) {
      const { connection } = supervisor;
      if (connection && (connection.era === 'legacy' || !isOwnAffair)) {
        connection.notify(method, params);
      }
    }
  }
}
