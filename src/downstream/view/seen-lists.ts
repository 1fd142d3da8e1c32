// What clients with less than everything see of a list, as a digest: the same as long as they see the same. It is
// made of the servers they see, in their order, and of the names and bytes of what these list to them. Clients are
// told of a changed list by comparing it (client-news.ts), so that nobody hears of what is hidden.

import { createHash, type Hash } from 'node:crypto';
import type { Definition } from '../../catalog/definitions.ts';
import { announcedAs, type ListKind, listKinds } from '../../host/lists/listings.ts';

/** Digests that are kept; dropped together when there are more. */
const maxKept = 256;

export interface SeenPart {
  readonly server: string;
  /** The names or addresses that its clients know, and the definitions. */
  readonly entries: readonly (readonly [string | undefined, Definition])[];
}

export class SeenLists {
  /** By list, policy, scope and class of clients; at most `maxKept`, until a list changes. */
  readonly #digests = new Map<string, string>();

  /** `key` names the list and whoever sees the same in it. */
  digest(key: string, partsOf: () => Iterable<readonly [ListKind, readonly SeenPart[]]>): string {
    const kept = this.#digests.get(key);
    if (kept !== undefined) return kept;
    const hash = createHash('sha256');
    for (const [kind, parts] of partsOf()) {
      for (const part of parts) addPart(hash, kind, part);
    }
    const digest = hash.digest('base64');
    if (this.#digests.size >= maxKept) this.#digests.clear();
    this.#digests.set(key, digest);
    return digest;
  }

  /** Something may be seen differently now. */
  changed(): void {
    this.#digests.clear();
  }
}

/** Every piece has its length or its quotes: two different lists never give the same text. */
function addPart(hash: Hash, kind: ListKind, { server, entries }: SeenPart): void {
  hash.update(`${kind} ${JSON.stringify(server)} ${entries.length}\n`);
  for (const [exposed, { bytes, start, end }] of entries) {
    hash.update(`${JSON.stringify(exposed ?? null)} ${end - start}\n`);
    hash.update(bytes.subarray(start, end));
  }
}

/** A list as clients are told of it. */
export type ToldList = ReturnType<typeof announcedAs>;

/** The kinds that are announced together. */
export function kindsOf(list: ToldList): readonly ListKind[] {
  return listKinds.filter((kind) => announcedAs(kind) === list);
}
