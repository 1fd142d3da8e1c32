// Serves clients over HTTP, until a signal comes or somebody asks for the end. When it listens, it prints the
// config for a client, with the token if this start created one.

import { addressText } from '../../downstream/http/access/listen-address.ts';
import { tokenAuthenticator } from '../../downstream/http/access/tokens.ts';
import { isStoredSession } from '../../downstream/http/legacy/kept-sessions.ts';
import { startHttp } from '../../downstream/http/listener.ts';
import { OutgoingBudget } from '../../downstream/outgoing/outgoing-budget.ts';
import { ownIdentity } from '../../host/identity.ts';
import { Fault } from '../../kernel/fault.ts';
import { keptSockets } from '../../rollout/kept-sockets.ts';
import type { Records } from '../../store/contract/records.ts';
import { sealedRecords } from '../../store/sealed-records.ts';
import type { StoreHealth } from '../../store/store.ts';
import { exitCodes } from '../exit-codes.ts';
import { connectionPage } from '../render/connection-page.ts';
import { complain, remark } from '../shell.ts';
import { assertOpenAccess, openAccess } from './access.ts';
import { drainAll } from './drain.ts';
import { startControl } from './own-instance.ts';
import { readinessOf } from './readiness.ts';
import { endOrReplaced } from './rollout/end-or-replaced.ts';
import { leaveToNext } from './rollout/former.ts';
import { overRollouts } from './rollout/http-clients.ts';
import { windowsOverRollouts } from './rollout/local-clients.ts';
import type { Served } from './served.ts';

/** Those that are open, and as many that earlier processes have left. */
const maxStoredSessions = 20_000;
/** For eight replicas: what has ended stays on a NATS server for ten minutes more, and counts among its messages. */
const maxSharedSessions = 8 * maxStoredSessions;

export async function serveHttp(served: Served, listen: string | undefined): Promise<number> {
  const { host, gateway, instance } = served;
  const { config, file: configFile, disabled } = served.loaded;
  const { shell, isJson } = served.invocation;
  const { out, interrupt } = shell;
  const { clock } = host;
  const http = { ...config.http, listen: listen ?? config.http.listen };
  if (http.auth === 'none') await assertOpenAccess(served);
  await using access = http.auth === 'none' ? undefined : await openAccess(served);
  const opened = access?.opened;
  const outgoing = new OutgoingBudget(clock, (line) => remark(shell, line));
  const { inUse, rollouts, ownsDatabase, broker } = served;
  // Only the owner of a database: others would keep them in files that any gateway reads.
  const sessions = ownsDatabase ? sessionsOf(served) : undefined;
  const { shared } = served;
  const readiness = readinessOf({
    isAccepting: () => gateway.isAccepting,
    isStoreUsable: shared && (() => shared.health().ok),
    isStoreReached: shared && (() => isReached(shared.health())),
  });
  // Its tokens have been read, if they can be.
  readiness();
  const { succession } = served;
  const neighbours = served.replicas === undefined ? succession?.neighbours : undefined;
  const tunnels = served.replicas?.tunnels ?? neighbours?.tunnels;
  const front = await startHttp({
    outgoing,
    sessions,
    principals: opened?.principals,
    peers: tunnels,
    front: gateway,
    config: http,
    clock,
    authenticator: opened && tokenAuthenticator(opened.tokens, access.lookNow),
    identity: ownIdentity(),
    report: (line) => remark(shell, line),
    inform: (line) => shell.logs('info') && complain(shell, line),
    readiness,
    sockets: shell.holder && keptSockets(shell.holder),
  });
  served.replicas?.serve((connection) => front.accept(connection));
  neighbours?.serve((connection) => front.accept(connection));
  using _giving = succession && tunnels && overRollouts(front, { succession, tunnels }, host);
  using _following = access?.follow((ids) => front.endAccess(ids));
  const { url } = front;
  const { env } = shell;
  const refused = () => front.refused;
  const common = { host, gateway, outgoing, inUse, rollouts, keepsKeys: ownsDatabase, broker, env };
  const sockets = shell.holder && keptSockets(shell.holder);
  const parts = { ...common, url, refused, sockets };
  const control = instance && (await startControl(instance, parts));
  using _windows =
    control && succession && windowsOverRollouts(instance, control.clients, succession);
  // When it is certain that it will be shown.
  const { secret = null, isKept = true } = (await opened?.makeFirst()) ?? {};
  const at = addressText(front.address);
  // What a later serving process would print has been printed.
  const isFirst = (shell.holder?.ordinal ?? 1) === 1;
  if (isFirst && isJson)
    out.json({
      url,
      listen: at,
      token: secret,
      tokenKept: secret === null ? null : isKept,
      pid: shell.holder?.pid ?? process.pid,
    });
  else if (isFirst) {
    const servers = host.servers().map(({ name }) => name);
    const listensOn = `http://${at}/mcp`;
    const known = { servers, disabled: disabled.size, configFile };
    const page = { url, listensOn, auth: http.auth, secret, isKept, ...known };
    for (const line of connectionPage(page, out.style, shell.steps)) out.line(line);
  }
  served.onServing();
  const { replicas } = served;
  const asked: Promise<unknown>[] = [interrupt.arrived, ...(control ? [control.endAsked] : [])];
  const why = await endOrReplaced(served, [...asked, ...(replicas ? [replicas.otherKey] : [])]);
  if (why === 'replaced') {
    await Promise.all([front.close(), control?.clients.close()]);
    return await leaveToNext(served);
  }
  if (why instanceof Fault) {
    // What it gives out is good for nothing at the others: nothing is waited for.
    await Promise.all([front.close(), control?.clients.close()]);
    await instance?.stopListening();
    throw why;
  }
  const endsAt = clock.now() + host.config.drainMs;
  const left = served.replicas?.leave();
  const drained = drainAll(served, control, front.passedOn);
  front.drain();
  await Promise.all([drained, left, succession?.formersEnded(host.config.drainMs)]);
  const passedOnMs = Math.max(0, endsAt - clock.now());
  await Promise.all([front.close(passedOnMs), control?.clients.close()]);
  // The lock is released after the host has closed the database.
  await instance?.stopListening();
  await host.close();
  return exitCodes.ok;
}

/** A store of which something is missing is there. */
function isReached(health: StoreHealth): boolean {
  return health.ok || health.isReached === true;
}

/** On a server that others can read they are encrypted: a client may set up its session with anything. */
function sessionsOf({ host, replicas }: Served): Records {
  const durability = 'durable';
  if (replicas === undefined) {
    const limits = { durability, maxEntries: maxStoredSessions } as const;
    return host.records('sessions', { ...limits, shape: isStoredSession });
  }
  const name = 'sealed-sessions';
  const shared = host.records(name, { durability, maxEntries: maxSharedSessions });
  return sealedRecords(shared, name, replicas.keyFor('sessions'));
}
