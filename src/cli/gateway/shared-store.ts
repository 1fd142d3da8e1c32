// The store that several gateways use together, for one of them: opened before its host, which closes it; where there
// never was a host, because the start has failed, it is closed with what is remembered of it.

import { join } from 'node:path';
import type { OpenedHost } from '../../host/create-host.ts';
import { isRememberedStream } from '../../store/nats/stream-memory.ts';
import type { Store } from '../../store/store.ts';
import { remark, type Shell } from '../shell.ts';
import { ownTokenStore, tokenFolders } from '../token-records.ts';

/** Its host closes the store; what is remembered of it is closed afterwards, and the store if it had no host. */
export interface SharedStore extends AsyncDisposable {
  readonly store: Store;
  /** From now on unexpected errors are counted there. */
  defectsOf(host: OpenedHost): void;
}

const collection = 'nats-streams';

/** It connects in the background: a server that is away holds up nothing. */
export async function openSharedStore(
  shell: Shell,
  address: string,
  configFile: string,
): Promise<SharedStore> {
  const { openNatsStore } = await import('../../store/nats/open-nats-store.ts');
  const folders = await tokenFolders(shell, configFile);
  const files = ownTokenStore(shell, folders);
  const shape = isRememberedStream;
  const records = files.records(collection, { durability: 'durable', shape });
  let counted: OpenedHost | undefined;
  const store = openNatsStore(address, {
    clock: shell.clock,
    memory: { records, folder: join(folders.own, collection) },
    report: ({ detail }) => remark(shell, detail),
    caught: (error) => {
      if (counted === undefined) remark(shell, `an error of the shared store: ${error}`);
      else counted.defects.caught('the shared store', error);
    },
  });
  return {
    store,
    defectsOf: (host) => {
      counted = host;
    },
    [Symbol.asyncDispose]: async () => {
      // Once is enough: a second time joins the first.
      await store.close();
      await files.close();
    },
  };
}
