// The real command `holdfast broker` with its real database, for the members of the suite: killed as by kill -9,
// and started again on the same port with the same directory.

import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Link } from '../../src/broker/contract.ts';
import {
  type CredentialRecord,
  credentialCollection,
  isCredentialRecord,
  newCredential,
} from '../../src/broker/credentials/credential-record.ts';
import { openSocketLink } from '../../src/broker/socket/socket-link.ts';
import { errnoOf } from '../../src/kernel/errno.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { openFilesStore } from '../../src/store/file-store.ts';
import { type BrokerSubject, type MemberName, members } from './broker-suite/subject.ts';
import { type CommandLine, commandLine, type Ended, type Started } from './command-line.ts';

export interface BrokerStart {
  readonly url: string;
  readonly listen: string;
  readonly pid: number;
}

export class BrokerProcess implements BrokerSubject {
  readonly dir: string;
  readonly #line: CommandLine;
  readonly #root: string;
  /** By member. */
  readonly #secrets = new Map<string, string>();
  #started: Started | undefined;
  #told: BrokerStart | undefined;
  /** Of the one that runs; 0: none has said that it listens. */
  #pid = 0;

  private constructor(line: CommandLine, root: string) {
    this.#line = line;
    this.#root = root;
    this.dir = join(root, 'broker');
  }

  /** In a directory of its own, with a credential for each member of the suite. */
  static async start(): Promise<BrokerProcess> {
    const broker = await BrokerProcess.prepared();
    await broker.launch();
    return broker;
  }

  /**
   * The same, not started yet. `make` makes its directory something special before anything is in it. `other`: the
   * credentials are those of this one, which matters for letters that it has left.
   */
  static async prepared(
    make: (dir: string) => void = () => {},
    other?: BrokerProcess,
  ): Promise<BrokerProcess> {
    const root = await mkdtemp(join(tmpdir(), 'holdfast-broker-'));
    const broker = new BrokerProcess(await commandLine(), root);
    await mkdir(broker.dir, { mode: 0o700 });
    make(broker.dir);
    if (other !== undefined) {
      await broker.#takeCredentials(other);
      return broker;
    }
    for (const [name, member] of Object.entries(members)) {
      // A worker of the command line always has a role.
      const role = member.kind === 'worker' ? (member.role ?? 'any') : null;
      await broker.admit(name, { ...member, role });
    }
    return broker;
  }

  get url(): string {
    return this.#told?.url ?? '';
  }

  get pid(): number {
    return this.#pid;
  }

  get ended(): Promise<Ended> {
    if (this.#started === undefined) throw new Error('it was not started');
    return this.#started.ended;
  }

  /** Stores a credential, as the command `holdfast token add` does. Its secret. */
  async admit(
    name: string,
    about: Omit<CredentialRecord, 'id' | 'hash' | 'createdAt'>,
  ): Promise<string> {
    const { record, secret } = newCredential({ ...about, createdAt: systemClock.wallNow() });
    await this.#withRecords((records) => records.put(record.mailbox, record));
    this.#secrets.set(name, secret);
    return secret;
  }

  /** As `token revoke` and `token add` do it; a broker that runs notices it by itself. */
  async renew(name: MemberName): Promise<void> {
    const { role, ...member } = members[name];
    await this.admit(name, { ...member, role: member.kind === 'worker' ? (role ?? 'any') : null });
  }

  revoke(mailbox: string): Promise<unknown> {
    return this.#withRecords((records) => records.remove(mailbox));
  }

  secretOf(name: string): string {
    return this.#secrets.get(name) ?? 'of nobody';
  }

  /** On the port of before, if there was one; run by another program, if one is given. */
  async launch(more: readonly string[] = [], through?: readonly string[]): Promise<void> {
    const listen = this.#told?.listen ?? '127.0.0.1:0';
    const words = ['broker', '--dir', this.dir, '--listen', listen, '--json', ...more];
    this.#pid = 0;
    this.#started = this.#line.start(words, through === undefined ? {} : { through });
    await this.#started.printed('\n');
    const told = JSON.parse(this.#started.stdout) as BrokerStart;
    if (told.url === undefined) throw new Error(`it does not start: ${this.#started.stdout}`);
    this.#told = told;
    this.#pid = told.pid;
    const forget = () => {
      this.#pid = 0;
    };
    this.#started.ended.then(forget, forget);
  }

  /** Another one in the same or another directory, until it has ended. */
  run(words: readonly string[]): Promise<Ended> {
    return this.#line.run(['broker', '--listen', '127.0.0.1:0', ...words]);
  }

  /** The broker, also where another program runs it. */
  async kill(signal: NodeJS.Signals): Promise<Ended> {
    if (this.#pid === 0) this.#started?.kill(signal);
    else signalled(this.#pid, signal);
    return await this.ended;
  }

  link(member: MemberName, seat: string = randomUUID().slice(0, 8)): Promise<Link> {
    return this.linkBy(this.secretOf(member), seat);
  }

  linkBy(
    secret: string,
    seat: string = randomUUID().slice(0, 8),
    more: { readonly ca?: Buffer; readonly url?: string } = {},
  ): Promise<Link> {
    const never = new AbortController().signal;
    return openSocketLink({ url: this.url, secret, seat, clock: systemClock, ...more }, never);
  }

  strangersLink(): Promise<Link> {
    return this.linkBy('of-nobody');
  }

  async restart(): Promise<void> {
    await this.kill('SIGKILL');
    await this.launch();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#started !== undefined) await this.kill('SIGKILL');
    await this.#line[Symbol.asyncDispose]();
    await rm(this.#root, { recursive: true, force: true, maxRetries: 5 });
  }

  async #takeCredentials(other: BrokerProcess): Promise<void> {
    for (const { key, value } of await other.#withRecords((records) => records.entries())) {
      await this.#withRecords((records) => records.put(key, value));
    }
    for (const [name, secret] of other.#secrets) this.#secrets.set(name, secret);
  }

  async #withRecords<T>(
    work: (records: ReturnType<ReturnType<typeof openFilesStore>['records']>) => Promise<T>,
  ): Promise<T> {
    await using store = openFilesStore(this.dir, { clock: systemClock, report: () => {} });
    const shape = isCredentialRecord;
    return await work(store.records(credentialCollection, { durability: 'durable', shape }));
  }
}

/** One that has ended, and was not heard of yet, is left alone. */
function signalled(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH') throw error;
  }
}
