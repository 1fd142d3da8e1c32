// The credentials of a running broker as they are followed: after each reading the hub is told when all of them were
// read for the first time, and connections without a credential make room where descriptors are what is missing.

import type { CredentialTable } from '../broker/credentials/credential-table.ts';
import type { Hub } from '../broker/hub/hub.ts';
import { isOutOfFiles } from '../kernel/shortage.ts';
import type { StoreProblem } from '../store/problem.ts';
import type { FollowedTokens } from './gateway/token-watch.ts';

export interface FollowedCredentialsParts {
  readonly table: CredentialTable;
  readonly hub: Pick<Hub, 'credentialsKnown'>;
  readonly shortage: Pick<DescriptorShortage, 'isNow'>;
  /** Closes connections that have shown no credential. */
  readonly makeRoom: () => void;
}

/** Whether files cannot be read for want of descriptors, by what their store reports. */
export class DescriptorShortage {
  #isNow = false;

  get isNow(): boolean {
    return this.#isNow;
  }

  /** Something that cannot be read for another reason, such as a damaged file, says nothing of it. */
  heard({ kind, code }: Pick<StoreProblem, 'kind' | 'code'>): void {
    if (kind === 'recovered') this.#isNow = false;
    else if (isOutOfFiles(code)) this.#isNow = true;
  }
}

export function followedCredentials(parts: FollowedCredentialsParts): FollowedTokens {
  const { table, hub, shortage, makeRoom } = parts;
  return {
    get principals() {
      return table.principals;
    },
    read: async () => {
      const { wasWhole } = table;
      const isWhole = await table.read();
      if (table.wasWhole && !wasWhole) hub.credentialsKnown();
      if (!isWhole && shortage.isNow) makeRoom();
      return isWhole;
    },
  };
}
