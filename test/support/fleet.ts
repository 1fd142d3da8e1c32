// A small fleet of real processes: a broker (the embedded one, in this process or as a command, or a real nats-server), an
// orchestrator (`holdfast serve --broker`) and workers (`holdfast proxy`) with the official client. The servers of
// the orchestrator are those of its config; the role `reader` of the worker ann is one of its roles.

import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { natsCredentialText } from '../../src/broker/nats-credential.ts';
import { BrokerProcess } from './broker-process.ts';
import { type MemberName, members } from './broker-suite/subject.ts';
import { mainProgram } from './build.ts';
import { startEmbeddedBroker } from './embedded-broker.ts';
import { GatewayHome, type HomeConfig, type Started } from './gateway-home.ts';
import { type Json, StdioClient } from './gateway-stdio-client.ts';
import { NatsServer, passwordOf } from './nats-server.ts';

export interface FleetBroker extends AsyncDisposable {
  readonly url: string;
  /** Where workers reach it, if that is elsewhere. */
  readonly workersUrl?: string;
  /** The program and its arguments that run the orchestrator, and workers, if they are elsewhere. */
  readonly through?: readonly string[];
  readonly workersThrough?: readonly string[];
  /** The file of a certificate to trust. */
  readonly ca?: string;
  /** As the file of a credential holds it. */
  credential(member: MemberName): string;
  /** As by kill -9, with what is on its disk. */
  restart(): Promise<void>;
}

export const fleetBrokers = {
  embedded: async (): Promise<FleetBroker> => {
    const broker = await startEmbeddedBroker();
    return Object.assign(broker, { credential: (member: MemberName) => member });
  },
  command: async (): Promise<FleetBroker> => {
    const broker = await BrokerProcess.start();
    return Object.assign(broker, { credential: (member: MemberName) => broker.secretOf(member) });
  },
  nats: async (): Promise<FleetBroker> => {
    const server = await NatsServer.start();
    return {
      get url() {
        return server.url;
      },
      credential: (member) =>
        natsCredentialText({ ...members[member], secret: passwordOf(member) }),
      restart: () => server.restart(),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
} as const;

export type FleetBrokerName = keyof typeof fleetBrokers;

export interface Worker extends AsyncDisposable {
  readonly client: Client;
  readonly pid: number;
  readonly stderr: () => string;
  call(tool: string, args?: object, meta?: object): Promise<Json>;
}

export class Fleet implements AsyncDisposable {
  readonly broker: FleetBroker;
  readonly home: GatewayHome;
  orchestrator: Started;
  readonly #workers: AsyncDisposable[] = [];
  #files = 0;

  private constructor(broker: FleetBroker, home: GatewayHome) {
    this.broker = broker;
    this.home = home;
    this.orchestrator = this.#orchestrate();
  }

  /** On a new broker of this kind, or on one that it owns from now on. `prepare`: before the orchestrator starts. */
  static async start(
    on: FleetBrokerName | FleetBroker,
    config: HomeConfig,
    prepare: (home: GatewayHome) => void = () => {},
  ): Promise<Fleet> {
    const broker = typeof on === 'string' ? await fleetBrokers[on]() : on;
    const home = await GatewayHome.create(config);
    prepare(home);
    const fleet = new Fleet(broker, home);
    await fleet.orchestrator.printed('\n');
    return fleet;
  }

  /** kill -9 of the orchestrator, and the next one. */
  async restartOrchestrator(): Promise<void> {
    this.orchestrator.kill('SIGKILL');
    await this.orchestrator.ended;
    this.orchestrator = this.#orchestrate();
    await this.orchestrator.printed('\n');
  }

  async worker(member: MemberName = 'ann', capabilities: object = {}): Promise<Worker> {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: this.#proxy,
      env: { ...this.home.env, HOLDFAST_TOKEN_FILE: this.#credential(member) },
      stderr: 'pipe',
    });
    let said = '';
    transport.stderr?.on('data', (chunk) => {
      said += chunk;
    });
    const client = new Client({ name: 'worker', version: '1' }, { capabilities });
    await client.connect(transport);
    const worker: Worker = {
      client,
      pid: transport.pid ?? 0,
      stderr: () => said,
      call: (name, args = {}, meta = {}) =>
        client.callTool({ name, arguments: { ...args }, _meta: { ...meta } }),
      [Symbol.asyncDispose]: () => client.close(),
    };
    this.#workers.push(worker);
    return worker;
  }

  /** A worker whose client writes and reads lines. */
  rawWorker(member: MemberName = 'ann'): StdioClient {
    return this.rawWorkerBy(this.broker.credential(member));
  }

  /** The same with a credential of its own, and by another way to the broker. */
  rawWorkerBy(credential: string, url = this.broker.workersUrl ?? this.broker.url): StdioClient {
    const args = [mainProgram, 'proxy', '--broker', url, '--to', 'boss', ...this.#trust];
    const env = { ...this.home.env, HOLDFAST_TOKEN_FILE: this.#credentialFile(credential) };
    const words = [...(this.broker.workersThrough ?? []), process.execPath, ...args];
    const worker = new StdioClient(spawn(words[0] ?? '', words.slice(1), { env }));
    this.#workers.push(worker);
    return worker;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker[Symbol.asyncDispose]()));
    await this.orchestrator.stop();
    await this.broker[Symbol.asyncDispose]();
    await this.home[Symbol.asyncDispose]();
  }

  get #proxy(): string[] {
    const { url, workersUrl = url } = this.broker;
    return [mainProgram, 'proxy', '--broker', workersUrl, '--to', 'boss'];
  }

  #orchestrate(): Started {
    const { url, through = [] } = this.broker;
    const link = ['--broker', url, '--as', 'boss', ...this.#trust];
    const args = ['--listen', '127.0.0.1:0', '--json', ...link];
    return this.home.start(args, { HOLDFAST_TOKEN_FILE: this.#credential('boss') }, through);
  }

  get #trust(): readonly string[] {
    const { ca } = this.broker;
    return ca === undefined ? [] : ['--tls-ca', ca];
  }

  #credential(member: MemberName): string {
    return this.#credentialFile(this.broker.credential(member));
  }

  #credentialFile(credential: string): string {
    this.#files += 1;
    const file = this.home.file(`credential-${this.#files}`);
    writeFileSync(file, credential, { mode: 0o600 });
    return file;
  }
}
