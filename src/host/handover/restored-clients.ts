// Clients of the serving process before this one, of which connections know: which client a message of a server
// is for. A session goes on here, perhaps later than the connection: until then its client is known by its key
// only, and a request of a server for it is refused like one whose client cannot be told.

import type { Message } from '../../wire/scan.ts';
import type { Caller, Client, ClientAnswer, Question } from '../connections/caller.ts';

const notBack = '{"code":-32603,"message":"the client has not come back yet"}';

/** Of the gateway. */
export interface HostClients {
  /** Those that are here. */
  all(): Iterable<Client>;
  /** Finds one that goes on here. */
  find(key: string): Client | undefined;
}

export class RestoredClients {
  clients: HostClients = { all: () => [], find: () => undefined };

  find(key: string): Client | undefined {
    return this.clients.find(key);
  }

  of(key: string): Client {
    return new RestoredClient(key, () => this.find(key));
  }
}

class RestoredClient implements Client {
  readonly key: string;
  readonly #find: () => Client | undefined;

  constructor(key: string, find: () => Client | undefined) {
    this.key = key;
    this.#find = find;
  }

  get isAskedInCalls(): boolean {
    return this.#find()?.isAskedInCalls ?? true;
  }

  get sharingOwner(): string | undefined {
    return this.#find()?.sharingOwner;
  }

  get isGone(): boolean {
    return this.#find()?.isGone ?? false;
  }

  get folder(): Client['folder'] {
    return this.#find()?.folder;
  }

  hasRoots(caller: Caller | undefined): boolean {
    return this.#find()?.hasRoots(caller) ?? false;
  }

  ask(question: Question): Promise<ClientAnswer> {
    const client = this.#find();
    return client ? client.ask(question) : Promise.resolve({ kind: 'error', json: notBack });
  }

  tell(server: string, message: Message, caller: Caller | undefined): void {
    this.#find()?.tell(server, message, caller);
  }
}
