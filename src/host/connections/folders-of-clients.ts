// In which folder a server runs for which client, if it runs in the folders of its clients
// (`cwd: "client"`), and who cannot use it because it has none.

import type { Fault } from '../../kernel/fault.ts';
import type { Client } from './caller.ts';
import { noFolderFault } from './client-folder.ts';

export interface FoldersParts {
  readonly server: string;
  /** Whether its processes run in the folders of its clients. */
  readonly inClientFolders: () => boolean;
}

interface WithClient {
  readonly client: Pick<Client, 'folder'>;
}

export class FoldersOfClients {
  readonly #parts: FoldersParts;

  constructor(parts: FoldersParts) {
    this.#parts = parts;
  }

  /** Undefined if it runs elsewhere. Throws a Fault for a client that has no folder. */
  of(caller: WithClient | undefined): string | undefined {
    const refusal = this.refusalOf(caller);
    if (refusal) throw refusal;
    const folder = this.#parts.inClientFolders() ? caller?.client.folder : undefined;
    return folder && 'path' in folder ? folder.path : undefined;
  }

  /** What is listed there is for the clients of a folder only; one that has none is shown nothing. */
  shownTo({ folder }: Pick<Client, 'folder'>): string | undefined {
    if (!this.#parts.inClientFolders()) return undefined;
    return folder && 'path' in folder ? folder.path : '';
  }

  /** Why it cannot be used by this client, or by nobody in particular; undefined if it can. */
  refusalOf(caller: WithClient | undefined): Fault | undefined {
    if (!this.#parts.inClientFolders()) return undefined;
    const folder = caller?.client.folder;
    if (folder && 'path' in folder) return undefined;
    return noFolderFault(this.#parts.server, folder);
  }
}
