// What a role may do on a path, by the oracle, and how a client of an SDK asks for it: what the tables of roles over
// real transports have in common.

import type { Cut } from '../../src/policy/principal.ts';
import type { Json, MatrixClient } from '../integration/matrix/client.ts';
import { type Thing, things } from './objects.ts';
import { isAllowed, seesServer } from './oracle.ts';
import { rulesOf } from './roles.ts';
import { exposed } from './ways.ts';
import { mayHear } from './world.ts';

/** Of a role on a path. */
export class Rights {
  readonly #role: string;
  readonly #cut: Cut | null;

  constructor(role: string, cut: Cut | null) {
    this.#role = role;
    this.#cut = cut;
  }

  may(one: Pick<Thing, 'server' | 'kind' | 'name'>): boolean {
    if (!isAllowed(rulesOf(this.#role), one)) return false;
    const cut = this.#cut;
    if (cut === null) return true;
    return cut.kind === 'server' ? one.server === cut.name : isAllowed(rulesOf(cut.name), one);
  }

  sees(server: string): boolean {
    const cut = this.#cut;
    if (!seesServer(rulesOf(this.#role), server)) return false;
    if (cut === null) return true;
    return cut.kind === 'server' ? server === cut.name : seesServer(rulesOf(cut.name), server);
  }

  get words(): ReadonlySet<string> {
    const all = mayHear(this.#role);
    return new Set(
      things.filter((one) => all.has(one.word) && this.may(one)).map(({ word }) => word),
    );
  }

  /** As a client on this path names it. */
  nameOf(one: Thing): string {
    const isOwn = this.#cut?.kind === 'server' && one.server === this.#cut.name;
    return isOwn && (one.kind === 'tool' || one.kind === 'prompt') ? one.name : exposed(one);
  }
}

/** A method that its era does not have is refused by the client itself. */
export async function ask(client: MatrixClient, method: string, params: Json): Promise<Json> {
  return await client.request(method, params);
}

/** What came, as text; a refusal is one, too. */
export async function told(work: Promise<Json>): Promise<string> {
  return await work.then(
    (result) => JSON.stringify(result),
    (error: Error & { data?: unknown }) => `${error.message} ${JSON.stringify(error.data ?? null)}`,
  );
}
