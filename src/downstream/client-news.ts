// Notifies clients that a list or a resource has changed. Legacy clients are notified in their
// session, modern ones on their subscription; only clients that may see the change are notified. Those who see
// everything are told of every change at once; all others only if what they see of the list is another now.

import type { Caller, Client } from '../host/connections/caller.ts';
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
import { LegacySession, paramsOf, watches } from './clients/legacy-session.ts';
import type { Listening } from './subscriptions/listen.ts';
import type { ToldList } from './view/seen-lists.ts';
import { namedKinds } from './view/sight.ts';
import type { View } from './view/view.ts';

export interface ClientNewsParts {
  readonly host: Pick<HostForGateway, 'access'>;
  readonly clock: Clock;
  readonly view: Pick<View, 'of' | 'seen' | 'readAgain'>;
  readonly sessions: ReadonlySet<LegacySession>;
  readonly listenings: ReadonlySet<Listening>;
}

/** A burst of changes is one notification. */
const gatherMs = 20;
const everyList = ['tools', 'prompts', 'resources'] as const;

/** Whoever is told of changes. */
type Told = LegacySession | Listening;

/** What has happened to one list since clients were told last. */
interface Happened {
  /** Servers whose list is said to have changed, or has: all who see everything are told. */
  readonly servers: Set<string>;
  /** The same, and those whose list was read: what others see of it is compared. */
  readonly compared: Set<string>;
}

export class ClientNews implements Disposable {
  readonly #parts: ClientNewsParts;
  /** Lists of which clients are told next; at most one entry for each. */
  readonly #happened = new Map<ToldList, Happened>();
  /** What each saw of the three lists when it was told last; nothing of those who saw everything. Gone with them. */
  readonly #seen = new WeakMap<Told, Map<ToldList, string>>();
  #isPolicyNew = false;
  #telling: Disposable | undefined;

  constructor(parts: ClientNewsParts) {
    this.#parts = parts;
  }

  /** From now on it is told of changes of what it sees. */
  began(told: Told): void {
    for (const list of everyList) this.#isNewTo(told, list);
  }

  /** The same for one that goes on here: these lists have changed before, and have not been read since. */
  goesOn(
    told: Told,
    unread: readonly { readonly server: string; readonly kind: ListKind }[],
  ): void {
    this.began(told);
    for (const { server, kind } of unread) this.listChanged(kind, server);
  }

  /** Notified to all whose own list is changed by it, together with other changes that follow soon. */
  listChanged(kind: ListKind, server: string): void {
    const happened = this.#happenedTo(kind);
    happened.servers.add(server);
    happened.compared.add(server);
    this.#tellSoon();
  }

  /** It was read after its change was reported: those who see everything have been told. */
  listRead(kind: ListKind, server: string): void {
    this.#happenedTo(kind).compared.add(server);
    this.#tellSoon();
  }

  /** It is known for the first time, and nobody was answered without it: it is what clients see now. */
  listKnown(kind: ListKind): void {
    this.#happenedTo(kind);
    this.#tellSoon();
  }

  #happenedTo(kind: ListKind): Happened {
    const list = announcedAs(kind);
    const happened = this.#happened.get(list) ?? { servers: new Set(), compared: new Set() };
    this.#happened.set(list, happened);
    return happened;
  }

  /** Who may see what has changed: all are told whose lists are others now, also those who see less. */
  policyChanged(): void {
    this.#isPolicyNew = true;
    this.#tellSoon();
  }

  #tellSoon(): void {
    this.#telling ??= this.#parts.clock.after(gatherMs, () => {
      this.#telling = undefined;
      const isPolicyNew = this.#isPolicyNew;
      const happened = new Map(this.#happened);
      this.#happened.clear();
      this.#isPolicyNew = false;
      for (const list of everyList) {
        const news = happened.get(list) ?? nothing;
        if (news.compared.size > 0 || isPolicyNew) this.#tellAll(list, news, isPolicyNew);
        else if (happened.has(list)) for (const told of this.#all()) this.#isNewTo(told, list);
      }
    });
  }

  *#all(): Iterable<Told> {
    yield* this.#parts.sessions;
    yield* this.#parts.listenings;
  }

  #tellAll(list: ToldList, { servers, compared }: Happened, isPolicyNew: boolean): void {
    const { access } = this.#parts.host;
    const requests = [...compared].map((name) => kindRequest('list', name, namedKinds[list]));
    const maySee = (principal: Principal) =>
      isPolicyNew || requests.some((request) => access.isAllowed(principal, request));
    const method = `notifications/${list}/list_changed`;
    const frame = notificationFrame(method);
    for (const told of this.#all()) {
      const isNew = this.#isNewTo(told, list);
      const seesEverything = this.#seen.get(told) === undefined;
      const isTold = seesEverything
        ? isNew || servers.size > 0
        : isNew && maySee(principalOf(told));
      if (isTold) {
        if (told instanceof LegacySession) told.send(frame, method);
        else told.listChanged(list);
      } else if (!seesEverything) {
        // The change may only be announced: what has changed is known when the list is read.
        for (const server of servers) this.#parts.view.readAgain(list, server, callerOf(told));
      }
    }
  }

  /** Whether it sees another list than it did when this was asked last. */
  #isNewTo(told: Told, list: ToldList): boolean {
    const now = this.#parts.view.seen(list, callerOf(told));
    const seen = this.#seen.get(told);
    const before = seen?.get(list) ?? '';
    if (now !== '') this.#seen.set(told, (seen ?? new Map()).set(list, now));
    else if (seen?.delete(list) && seen.size === 0) this.#seen.delete(told);
    return now !== before;
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

const nothing: Happened = { servers: new Set(), compared: new Set() };

function principalOf(told: Told): Principal {
  return told instanceof LegacySession ? told.principal : told.incoming.principal;
}

function callerOf(told: Told): Caller {
  return told instanceof LegacySession ? told.caller : told.incoming;
}
