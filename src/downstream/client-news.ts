// Notifies clients that a list or a resource has changed. Legacy clients are notified in their
// session, modern ones on their subscription; only clients that may see the change are notified.

import type { Client } from '../host/connections/caller.ts';
import { isIn } from '../host/connections/client-folder.ts';
import type { HostForGateway } from '../host/gateway-face.ts';
import type { UpdateAudience } from '../host/host-news.ts';
import { announcedAs, type ListKind } from '../host/lists/listings.ts';
import type { Clock } from '../kernel/clock.ts';
import { kindRequest } from '../policy/access.ts';
import type { Principal } from '../policy/principal.ts';
import { textOf } from '../wire/decode.ts';
import { notificationFrame } from '../wire/frames.ts';
import type { Message } from '../wire/scan.ts';
import { type LegacySession, paramsOf, watches } from './clients/legacy-session.ts';
import type { Listening } from './subscriptions/listen.ts';
import { namedKinds } from './view/sight.ts';
import type { View } from './view/view.ts';

export interface ClientNewsParts {
  readonly host: Pick<HostForGateway, 'access'>;
  readonly clock: Clock;
  readonly view: Pick<View, 'of'>;
  readonly sessions: ReadonlySet<LegacySession>;
  readonly listenings: ReadonlySet<Listening>;
}

/** A burst of changes is one notification. */
const gatherMs = 20;
const everyList = ['tools', 'prompts', 'resources'] as const;

export class ClientNews implements Disposable {
  readonly #parts: ClientNewsParts;
  /** Lists whose changes are notified next, and of which servers; at most one entry for each. */
  readonly #changed = new Map<ListKind, Set<string>>();
  #isPolicyNew = false;
  #telling: Disposable | undefined;

  constructor(parts: ClientNewsParts) {
    this.#parts = parts;
  }

  /** Notified to all who may see the list, together with other changes that follow soon. */
  listChanged(kind: ListKind, server: string): void {
    const list = announcedAs(kind);
    this.#changed.set(list, (this.#changed.get(list) ?? new Set()).add(server));
    this.#tellSoon();
  }

  /** Who may see what has changed: everybody is notified, also those who see less now. */
  policyChanged(): void {
    this.#isPolicyNew = true;
    this.#tellSoon();
  }

  #tellSoon(): void {
    this.#telling ??= this.#parts.clock.after(gatherMs, () => {
      this.#telling = undefined;
      const isPolicyNew = this.#isPolicyNew;
      const changed = isPolicyNew
        ? everyList.map((list) => [list, null] as const)
        : [...this.#changed];
      this.#changed.clear();
      this.#isPolicyNew = false;
      for (const [list, servers] of changed) this.#tellAll(list, servers);
    });
  }

  /** `servers`: those whose list has changed; null: all, for everybody. */
  #tellAll(kind: ListKind, servers: ReadonlySet<string> | null): void {
    const method = `notifications/${kind}/list_changed`;
    const frame = notificationFrame(method);
    const requests = [...(servers ?? [])].map((server) =>
      kindRequest('list', server, namedKinds[kind]),
    );
    const { host, sessions, listenings } = this.#parts;
    const { access } = host;
    const maySee = (principal: Principal) =>
      servers === null || requests.some((request) => access.isAllowed(principal, request));
    for (const session of sessions) {
      if (maySee(session.principal)) session.send(frame, method);
    }
    for (const listening of listenings) {
      if (maySee(listening.incoming.principal)) listening.listChanged(kind);
    }
  }

  /** A resource has changed; `owner` is the client of a reserved connection. */
  updated(server: string, message: Message, { owner, folder }: UpdateAudience): void {
    const { host, view, sessions, listenings } = this.#parts;
    const params = paramsOf(message);
    const span = message.paramsObject?.find('uri');
    const own = span && textOf(message.bytes, span);
    if (!params || own === undefined) return;
    const toldTo = (principal: Principal) => {
      const { resources } = view.of(principal);
      const uri = resources.exposed(server, own);
      return { uri, shown: uri === own ? params : resources.exposedIn(server, params) };
    };
    const method = 'notifications/resources/updated';
    const request = {
      action: 'subscribe',
      server,
      kind: 'resource',
      name: own,
      method: null,
    } as const;
    const isMeant = (client: Client, principal: Principal) =>
      (owner === null || owner === client.key) &&
      (folder === undefined || isIn(client, folder)) &&
      host.access.isAllowed(principal, request);
    for (const session of sessions) {
      if (session.watched.size === 0 || !isMeant(session, session.principal)) continue;
      const { uri, shown } = toldTo(session.principal);
      if (watches(session, uri)) session.send(notificationFrame(method, shown));
    }
    for (const listening of listenings) {
      const { client, principal } = listening.incoming;
      if (!isMeant(client, principal)) continue;
      const { uri, shown } = toldTo(principal);
      listening.updated(uri, shown);
    }
  }

  [Symbol.dispose](): void {
    this.#telling?.[Symbol.dispose]();
  }
}
