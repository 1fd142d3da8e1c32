// A real nats-server in a folder of its own, with the config that the product prints for the members of the broker
// suite. It can be killed and started again with what is on its disk.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NatsMember, natsConfig } from '../../src/broker/nats/nats-config.ts';
import { type MemberName, members } from './broker-suite/subject.ts';
import { until } from './until.ts';

/** Another one can be tried by hand. */
const program = process.env['HOLDFAST_TEST_NATS'] ?? '/usr/sbin/nats-server';

/** Why no server can be started here; undefined if one can. */
export function natsRefusal(): string | undefined {
  return existsSync(program) ? undefined : 'there is no nats-server: apt-get install nats-server';
}

/** The password of a member of the suite. */
export function passwordOf(member: MemberName): string {
  return `${member}'s "secret" \\ $word`;
}

export const suiteMembers: readonly NatsMember[] = (Object.keys(members) as MemberName[]).map(
  (name) => ({ identity: members[name], credential: { password: passwordOf(name) } }),
);

export class NatsServer implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-nats-'));
  #child: ChildProcess | undefined;
  url = '';

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** With the printed config for these members, or another. */
  static async start(
    fleet = suiteMembers,
    config?: (storeDir: string) => string,
  ): Promise<NatsServer> {
    const refusal = natsRefusal();
    if (refusal !== undefined) throw new Error(refusal);
    const server = new NatsServer();
    const storeDir = join(server.folder, 'store');
    const text = config?.(storeDir) ?? natsConfig(fleet, { storeDir });
    writeFileSync(join(server.folder, 'nats.conf'), text);
    await server.#run();
    return server;
  }

  /** As by kill -9. */
  async restart(): Promise<void> {
    await this.#kill();
    await this.#run();
  }

  /** As its operator does it: a new config for these members, and a signal. */
  reload(fleet: readonly NatsMember[]): void {
    const storeDir = join(this.folder, 'store');
    writeFileSync(join(this.folder, 'nats.conf'), natsConfig(fleet, { storeDir }));
    this.#child?.kill('SIGHUP');
  }

  /** The same, and resolves when the server has done it. */
  async reloaded(fleet: readonly NatsMember[]): Promise<void> {
    const before = this.#reloads();
    this.reload(fleet);
    await until(() => this.#reloads() > before, 'nats-server has reloaded its config');
  }

  #reloads(): number {
    const log = readFileSync(join(this.folder, 'log'), 'utf8');
    return log.split('Reloaded server configuration').length;
  }

  /** As by kill -9; it can be started again. */
  async kill(): Promise<void> {
    await this.#kill();
  }

  async startAgain(): Promise<void> {
    await this.#run();
  }

  /** It stays alive, and answers nothing. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #run(): Promise<void> {
    const { folder } = this;
    // After a restart it is where it was.
    const port = this.url === '' ? '-1' : new URL(this.url).port;
    const options = ['-c', join(folder, 'nats.conf'), '-a', '127.0.0.1', '-p', port];
    const log = join(folder, 'log');
    const child = spawn(program, [...options, '--ports_file_dir', folder, '-l', log], {
      stdio: 'ignore',
    });
    this.#child = child;
    const ports = join(folder, `nats-server_${child.pid}.ports`);
    await until(() => {
      if (child.exitCode !== null) throw new Error(`nats-server: ${readFileSync(log, 'utf8')}`);
      const address = addressIn(ports);
      this.url = address ?? this.url;
      return address !== undefined;
    }, 'nats-server listens');
  }

  async #kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

/** Undefined until the file is written whole. */
function addressIn(file: string): string | undefined {
  try {
    const { nats } = JSON.parse(readFileSync(file, 'utf8')) as { readonly nats: readonly string[] };
    return nats[0];
  } catch {
    return undefined;
  }
}
