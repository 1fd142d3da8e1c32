// The gateways of a run, as processes of the build that is on trial: one that listens, and one for
// each stdio client. All of them carry the mark of the run in their environment, which every Holdfast
// hands on to whatever it starts; by that mark survivors are found.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { workingPid } from '../support/serving-process.ts';
import { within } from './client.ts';
import { EndsLog } from './ends-log.ts';
import { descriptorsOf } from './process-list.ts';

export interface GatewayHome {
  readonly build: string;
  /** Of the run: everything is below it. */
  readonly folder: string;
  /** Unique to the run. */
  readonly mark: string;
  /** Its state directory, if not the one that is shared. */
  readonly state?: string;
  /** Its runtime directory: the address of a socket must be short. */
  readonly runtime?: string;
  /** The file of the credential that it shows to a broker. */
  readonly credential?: string;
}

const stopMs = 20_000;

/** Writes the config of one gateway; the file. `settings` are more keys of it. */
export function configure(
  home: GatewayHome,
  name: string,
  mcpServers: object,
  settings: object = {},
): string {
  const folder = join(home.folder, name);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'holdfast.json');
  writeFileSync(file, JSON.stringify(configOf(mcpServers, settings), null, 2));
  return file;
}

export interface ChaosConfig {
  readonly mcpServers: Readonly<Record<string, object>>;
}

/** The content of it. */
export function configOf(mcpServers: object, settings: object = {}): ChaosConfig {
  // Far below the default, so that the log is rotated in every run.
  const telemetry = { maxBytes: 1_000_000 };
  const servers = mcpServers as ChaosConfig['mcpServers'];
  return { ...{ http: { auth: 'none' }, telemetry }, ...settings, mcpServers: servers };
}

/** A gateway with pipes; what it complains of goes to a file. */
export function startStdio(home: GatewayHome, configFile: string, path: string): ChildProcess {
  const complaints = openSync(complaintsFile(home), 'a');
  try {
    const words = ['--config', configFile, '--stdio'];
    return start(home, [], words, ['pipe', 'pipe', complaints], path);
  } finally {
    closeSync(complaints);
  }
}

/** A window: `holdfast connect`, which joins the instance of the config or starts it. */
export function startConnect(home: GatewayHome, configFile: string): ChildProcess {
  const complaints = openSync(complaintsFile(home), 'a');
  try {
    const words = ['connect', '--config', configFile, '--idle-end', '1500'];
    return command(home, [], words, ['pipe', 'pipe', complaints]);
  } finally {
    closeSync(complaints);
  }
}

/** A worker: `holdfast proxy`, which reaches an orchestrator through a broker. */
export function startProxy(home: GatewayHome, broker: string, to: string): ChildProcess {
  const said = openSync(join(home.folder, 'stderr-workers.txt'), 'a');
  try {
    return command(home, [], ['proxy', '--broker', broker, '--to', to], ['pipe', 'pipe', said]);
  } finally {
    closeSync(said);
  }
}

/** A command that listens, and what it says of it in one line; it may be ended by its caller. */
export async function startListening<T>(
  home: GatewayHome,
  words: readonly string[],
): Promise<{ readonly child: ChildProcess; readonly told: T }> {
  const said = openSync(join(home.folder, 'stderr-remote.txt'), 'a');
  try {
    const child = command(home, [], [...words, '--json'], ['ignore', 'pipe', said]);
    if (child.stdout === null) throw new Error('a command without a stdout');
    const early = once(child, 'exit').then(([code]) => {
      throw new Error(`${words[0]} ended with ${code} before it listened`);
    });
    const [line] = (await Promise.race([once(createInterface(child.stdout), 'line'), early])) as [
      string,
    ];
    early.catch(() => {});
    return { child, told: JSON.parse(line) as T };
  } finally {
    closeSync(said);
  }
}

/** Any command, for its exit code; what it says goes to a file. */
export function startCommand(home: GatewayHome, words: readonly string[]): ChildProcess {
  const said = openSync(commandsFile(home), 'a');
  try {
    return command(home, [], words, ['ignore', said, said]);
  } finally {
    closeSync(said);
  }
}

/** What they have said. */
export function commandsSaid(home: GatewayHome): string {
  const file = commandsFile(home);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/** The same, for what it prints; a command that does not end with 0 has no result. */
export async function printed(home: GatewayHome, words: readonly string[]): Promise<string> {
  const child = command(home, [], words, ['ignore', 'pipe', 'pipe']);
  const said = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${said.stderr}`);
  return said.stdout;
}

const complaintsFile = ({ folder, state = 'state' }: GatewayHome) =>
  join(folder, `stderr-stdio-${state}.txt`);

const commandsFile = ({ folder, state = 'state' }: GatewayHome) =>
  join(folder, `stderr-commands-${state}.txt`);

/** What gateways of stdio clients with this state directory have complained of. */
export function complaints(home: GatewayHome): string {
  return readFileSync(complaintsFile(home), 'utf8');
}

/** The gateway that listens, with an inspector to look into its heap. */
export class Gateway {
  readonly url: string;
  readonly pid: number;
  readonly ends: EndsLog;
  readonly #home: GatewayHome;
  readonly #configFile: string;
  readonly #child: ChildProcess;
  readonly #stderr: string[];

  private constructor(
    home: GatewayHome,
    configFile: string,
    started: { child: ChildProcess; url: string; stderr: string[]; ends: EndsLog },
  ) {
    const { child, url, stderr, ends } = started;
    this.#home = home;
    this.#configFile = configFile;
    this.ends = ends;
    this.#child = child;
    this.url = url;
    this.pid = child.pid ?? 0;
    this.#stderr = stderr;
  }

  /** `endsFile`: where it is written down when its serving process was killed. */
  static async start(
    home: GatewayHome,
    configFile: string,
    endsFile = 'ends.jsonl',
  ): Promise<Gateway> {
    const words = ['--config', configFile, '--listen', '127.0.0.1:0', '--json'];
    const child = start(home, ['--inspect=127.0.0.1:0'], words, ['ignore', 'pipe', 'pipe']);
    const stderr: string[] = [];
    child.stderr?.setEncoding('utf8').on('data', (text: string) => stderr.push(text));
    if (child.stdout === null) throw new Error('a gateway without a stdout');
    const lines = createInterface(child.stdout);
    const early = once(child, 'exit').then(() => {
      throw new Error(`the gateway ended before it listened: ${complaintsIn(stderr)}`);
    });
    const [line] = (await Promise.race([once(lines, 'line'), early])) as [string];
    early.catch(() => {});
    const { url } = JSON.parse(line) as { url: string };
    const ends = new EndsLog(home.folder, endsFile);
    return new Gateway(home, configFile, { child, url, stderr, ends });
  }

  get inspector(): string {
    // The pid-holder has one, too, and so had every successor that is gone by now.
    const told = [...this.#stderr.join('').matchAll(/^Debugger listening on (ws:\S+)$/gm)];
    const open = descriptorsOf(workingPid(this.pid));
    const isOpen = (address = '') => open.includes(`tcp ${new URL(address).port}-0 state 0A`);
    const address = told.map(([, one]) => one).findLast(isOpen);
    if (address === undefined) throw new Error('the gateway has no inspector');
    return address;
  }

  /** Asks it for a rollout; the exit code. */
  async rollOut(): Promise<number | null> {
    const words = ['rollout', '--config', this.#configFile];
    const [code] = await once(startCommand(this.#home, words), 'exit');
    return code;
  }

  /** What it has complained of, without what the inspector says. */
  get complaints(): string {
    return complaintsIn(this.#stderr);
  }

  /** Ends it as a service manager does; its exit code, null if it had to be killed. */
  async stop(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    if (!(await within(stopMs, ended))) this.#child.kill('SIGKILL');
    await ended;
    return this.#child.exitCode;
  }
}

function complaintsIn(stderr: readonly string[]): string {
  const lines = stderr.join('').split('\n');
  return lines.filter((line) => !/^(Debugger|For help, see|$)/.test(line)).join('\n');
}

function start(
  home: GatewayHome,
  nodeOptions: readonly string[],
  words: readonly string[],
  stdio: ('pipe' | 'ignore' | number)[],
  path?: string,
): ChildProcess {
  return command(home, nodeOptions, ['serve', ...words], stdio, path);
}

function command(
  { build, folder, mark, runtime, credential, state = 'state' }: GatewayHome,
  nodeOptions: readonly string[],
  words: readonly string[],
  stdio: ('pipe' | 'ignore' | number)[],
  path = process.env['PATH'] ?? '',
): ChildProcess {
  const { HOLDFAST_INSTANCE = '' } = process.env;
  const main = join(build, 'cli', 'main.js');
  return spawn(process.execPath, [...nodeOptions, main, ...words], {
    cwd: folder,
    env: {
      PATH: path,
      HOME: folder,
      ...(runtime === undefined ? {} : { XDG_RUNTIME_DIR: runtime }),
      HOLDFAST_STATE: join(folder, state),
      ...(credential === undefined ? {} : { HOLDFAST_TOKEN_FILE: credential }),
      HOLDFAST_INSTANCE: `${HOLDFAST_INSTANCE}${mark}.0;`,
    },
    stdio,
  });
}
