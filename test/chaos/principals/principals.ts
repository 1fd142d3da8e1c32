// Principals with different roles, and what happens to them while they call: roles are made wide and narrow,
// go and come back; visitors get a token, call, lose it, and go on as if nothing had happened. All of them try
// every tool of every server, whether they may use it or not; some come by a path that narrows.

import { setMaxListeners } from 'node:events';
import type { Dice } from '../../support/dice.ts';
import { pauseMs } from '../client.ts';
import { HttpClient } from '../client-http.ts';
import type { ClientRow } from '../clients.ts';
import type { Fleet } from '../fleet.ts';
import { History } from '../history.ts';
import { Lane } from '../lane.ts';
import type { Order } from '../order.ts';
import { principalServers } from '../servers.ts';
import type { Tally } from '../tally.ts';
import type { Token } from './guarded-gateway.ts';
import { addressOf, identityOf, type NarrowPath } from './identity.ts';

export interface PrincipalsOptions {
  /** Of the storm. */
  readonly name: string;
  readonly fleet: Fleet;
  readonly dice: Dice;
  readonly tally: Tally;
  readonly isOver: AbortSignal;
}

/** Those that stay: which role each has, and by which paths it comes. */
const residents: readonly { readonly role: string; readonly paths: readonly NarrowPath[] }[] = [
  {
    role: 'all',
    paths: [null, { kind: 'server', name: 'rdocs' }, { kind: 'role', name: 'guest' }],
  },
  { role: 'narrow', paths: [null, { kind: 'role', name: 'toggled' }] },
  { role: 'toggled', paths: [null, { kind: 'server', name: 'rfiles' }] },
  { role: 'guest', paths: [null] },
];
const eras = ['modern', 'legacy'] as const;
const patienceMs = 60_000;
/** So long a visitor goes on when its token has been revoked. */
const afterwardsMs = 1500;

export class Principals {
  readonly #options: PrincipalsOptions;
  #visitors = 0;

  constructor(options: PrincipalsOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { name, fleet, isOver } = this.#options;
    const tokens = await Promise.all(
      residents.map(({ role }) => fleet.guarded.add(`${name}-${role}`, role)),
    );
    const staying = tokens.map((token, at) =>
      this.#live(token, residents[at]?.paths ?? [], isOver, async () => {}),
    );
    await Promise.all([...staying, this.#edits(), this.#visits(), this.#visits(), this.#spend()]);
  }

  /** The roles are edited until it is over, at least once in each direction. */
  async #edits(): Promise<void> {
    const { fleet, dice, tally, isOver } = this.#options;
    const { guarded } = fleet;
    const own = dice.of('roles');
    const flips = [
      () => ({ isWide: !guarded.edition.isWide }),
      () => ({ hasGuest: !guarded.edition.hasGuest }),
      () => ({ isWide: !guarded.edition.isWide, hasGuest: !guarded.edition.hasGuest }),
    ];
    do {
      await pauseMs(own.between(50, 500));
      await guarded.edit(own.pick(flips)());
      tally.happened('roles changed');
    } while (!isOver.aborted);
    // A token can be given only a role that exists.
    await guarded.edit({ isWide: true, hasGuest: true });
  }

  /** One call after the other, also when nothing is left to be spent. */
  async #spend(): Promise<void> {
    const { fleet, dice, isOver } = this.#options;
    const own = dice.of('spender');
    const { client } = this.#client(fleet.guarded.spender, null, 'modern');
    await client.open();
    while (!isOver.aborted) {
      await client.call({ server: 'rcalm', tool: 'add', args: {} });
      await pauseMs(own.between(20, 300));
    }
    await client.leave(patienceMs);
  }

  async #visits(): Promise<void> {
    const { isOver } = this.#options;
    do await this.#visit();
    while (!isOver.aborted);
  }

  async #visit(): Promise<void> {
    const { name, fleet, dice, tally } = this.#options;
    this.#visitors += 1;
    const own = dice.of(`visitor-${this.#visitors}`);
    const role = own.pick(['all', 'narrow', 'toggled']);
    const token = await fleet.guarded.add(`${name}-visitor-${this.#visitors}`, role);
    const stays = new AbortController();
    const paths = own.pick<readonly NarrowPath[]>([
      [null],
      [null, { kind: 'server', name: 'rdocs' }],
    ]);
    await this.#live(token, paths, stays.signal, async () => {
      await pauseMs(own.between(200, 1500));
      await fleet.guarded.revoke(token);
      tally.happened('token revoked');
      await pauseMs(afterwardsMs);
      stays.abort();
    });
  }

  /** Its clients, on each of its paths one of each era, call until it is over. */
  async #live(
    token: Token,
    paths: readonly NarrowPath[],
    isOver: AbortSignal,
    meanwhile: () => Promise<void>,
  ): Promise<void> {
    setMaxListeners(0, isOver);
    const rows = paths.flatMap((path) => eras.map((era) => this.#client(token, path, era)));
    await Promise.all(rows.map(({ client }) => client.open()));
    await Promise.all([meanwhile(), ...rows.flatMap((row) => this.#calls(row, isOver))]);
    await Promise.all(rows.map(({ client }) => client.leave(patienceMs)));
  }

  #client(token: Token, path: NarrowPath, era: 'modern' | 'legacy'): ClientRow {
    const { fleet, tally } = this.#options;
    const name = `${this.#options.name}-${token.name}${addressOf(path).replaceAll('/', '-')}-${era}`;
    const history = new History(fleet.folder, name);
    history.begin('the gateway of principals');
    const identity = identityOf(token.name, token.secret, path);
    const url = `${fleet.guarded.gateway.url}${addressOf(path)}`;
    const servers =
      path?.kind === 'server'
        ? principalServers.filter((spec) => spec.name === path.name)
        : principalServers;
    const client = new HttpClient({ url, era, history, tally, identity });
    return { name, client, hasGateway: false, servers };
  }

  #calls(row: ClientRow, isOver: AbortSignal): readonly Promise<void>[] {
    const { fleet, dice } = this.#options;
    return [
      new Lane(row, `${row.name}-lane`, dice, fleet.claims, isOver).run(),
      this.#sayTheSame(row, isOver),
    ];
  }

  /** What all principals say alike, also under the same keys: each gets what was made for itself. */
  async #sayTheSame(row: ClientRow, isOver: AbortSignal): Promise<void> {
    const own = this.#options.dice.of(`${row.name}-same`);
    // Everybody throws the same dice for what is said under a key.
    const same = this.#options.dice.of('same');
    for (let number = 1; !isOver.aborted; number += 1) {
      const key = `${this.#options.name}-same-${number}`;
      const server = own.pick(row.servers).name;
      const cacheScope = own.pick(['private', 'private', 'public']);
      const cached = {
        tool: 'cached',
        args: { ttlMs: 60_000, cacheScope },
        isAlike: true,
      } as const;
      const ms = same.between(5, 60);
      const at = same.pick(principalServers).name;
      const keyed: Order = { server: at, tool: 'slow', args: { ms }, isAlike: true, key };
      const mayAsk = row.servers.some(({ name }) => name === at);
      await row.client.call({ server, ...cached });
      if (mayAsk) await Promise.all([row.client.call(keyed), row.client.call(keyed)]);
      await row.client.list();
      await pauseMs(own.between(20, 200));
      if (mayAsk && !isOver.aborted) await row.client.call(keyed);
    }
  }
}
