// A home in which a gateway has lived: it has a token, a server that was called, its verdict and its
// catalogue, and an event log with a previous one. What was on its disk then can be had back any number
// of times, for one damage after the other.

import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/until.ts';
import type { Client } from './asking.ts';
import { CrashHome, type Life } from './home.ts';
import { PaperServer } from './paper-server.ts';
import type { Shipped } from './shipped.ts';

export interface Visit {
  readonly life: Life;
  readonly client: Client;
  /** As this start printed it. */
  readonly token: string | null;
}

export const toolName = 'hello';
const definition = `{"name":"${toolName}","inputSchema":{"type":"object"}}`;

export class LivedInHome implements Disposable {
  readonly home: CrashHome;
  readonly #server: PaperServer;
  readonly #shipped: Shipped;
  #spec = 0;
  #firstToken = '';
  /** What to send. */
  token = '';

  constructor(shipped: Shipped, name: string) {
    this.#shipped = shipped;
    this.home = new CrashHome(shipped.main, name);
    this.#server = new PaperServer(this.home.file('server'));
    this.#server.offer([definition]);
    this.#configure();
  }

  /** Lives in it once, is killed, and remembers what is then on the disk. */
  async settle(): Promise<this> {
    const { life, client } = await this.visit();
    this.#firstToken = this.token;
    await client.call(`server__${toolName}`);
    await client.tools();
    const isThere = () => this.kinds().length === 5 && this.logged('call').length === 1;
    await until(isThere, 'everything is on the disk');
    await life.kill();
    life[Symbol.dispose]();
    writeFileSync(this.home.inState('events.jsonl.1'), '{"at":1,"kind":"idle","server":"old"}\n');
    cpSync(this.home.state, this.home.file('as-it-was'), { recursive: true, filter: isNoSocket });
    return this;
  }

  restore(): void {
    this.home.wipe('');
    cpSync(this.home.file('as-it-was'), this.home.state, { recursive: true, filter: isNoSocket });
    this.token = this.#firstToken;
  }

  /** The lines of the event log about one kind of event. */
  logged(kind: string): readonly string[] {
    const log = readFileSync(this.home.inState('events.jsonl'), 'utf8');
    return log.split('\n').filter((line) => line.includes(`"kind":"${kind}"`));
  }

  /** Starts a gateway; throws if it does not listen. */
  async visit(): Promise<Visit> {
    const life = this.home.start();
    const listening = await life.listening();
    if (listening === undefined) throw new DidNotStart(life.stderr);
    const { url, token } = listening;
    if (token !== null) this.token = token;
    return { life, token, client: life.client(url, this.token) };
  }

  /** A server that the gateway has never seen, so that it has to write about it. */
  newServer(): void {
    this.#spec += 1;
    this.#configure();
  }

  /** Where the record about the server of now is kept. */
  recordOf(collection: string): string {
    const file = this.#shipped.recordOf(
      collection,
      this.#server.entry(this.#spec),
      this.home.folder,
    );
    return join('store', file);
  }

  /** One file of each kind that is on the disk, by its kind. */
  kinds(): readonly (readonly [kind: string, file: string])[] {
    const folders = {
      tokens: 'store/tokens',
      catalogues: 'store/catalogues',
      verdicts: 'store/verdicts',
    };
    const places = { ...folders, instances: 'instances', 'event log': '' };
    return Object.entries(places).flatMap(([kind, folder]) => {
      const names = namesIn(this.home.inState(folder)).filter((name) => isWhole.test(name));
      return names.slice(0, 1).map((name) => [kind, join(folder, name)] as const);
    });
  }

  [Symbol.dispose](): void {
    this.home[Symbol.dispose]();
  }

  #configure(): void {
    this.home.configure({ server: this.#server.entry(this.#spec) });
  }
}

export class DidNotStart extends Error {
  override readonly name = 'DidNotStart';
}

const isWhole = /\.(record|json|jsonl)$/;

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Not there yet.
    return [];
  }
}

/** A socket cannot be copied, and is made anew by every start. */
function isNoSocket(path: string): boolean {
  return !path.endsWith('.sock');
}
