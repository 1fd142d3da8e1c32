// Rollouts between two different versions under load: up and down in turn, and to versions that must be refused because
// they read another form of snapshots, or know another form of the channel to the pid-holder; then the version before
// serves on, and nobody notices.

import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { exactly, type Report } from '../proof/report.ts';
import { statusOf } from '../support/connect-window.ts';
import type { GatewayHome } from '../support/gateway-home.ts';
import { builtOtherwise, exchanged, type OtherVersion } from '../support/other-version.ts';
import { judge } from './judge.ts';
import { type LightWorld, lightWorld } from './light-world.ts';
import { processesOf } from './processes.ts';

export interface VersionsSize {
  /** Up, and down again. */
  readonly turns: number;
  readonly progress: (text: string) => void;
}

const old = { version: '1.0.0-old' };
const next = { version: '1.1.0-next' };
const refused: readonly OtherVersion[] = [
  { version: '2.0.0-snapshot', form: 'snapshot' },
  { version: '2.0.0-channel', form: 'channel' },
];

export async function proveVersions(size: VersionsSize): Promise<Omit<Report, 'title'>> {
  const installation = new Installation();
  const world = await lightWorld((home) => installation.open(home));
  try {
    const told = await rolledUpAndDown(world, installation, size);
    const kept = await notReplaced(world, installation, size);
    await world.rest();
    const { failed, unanswered, lost, twice, foreign, hellosAgain, answered } = judge(
      world.history,
      world.files,
    );
    const wrong = [failed, unanswered, lost, twice, foreign, hellosAgain].flat();
    return {
      figures: [
        exactly('rollouts to another version, up and down', told.steps, 2 * size.turns),
        exactly(
          'versions that were refused, and the one before served on',
          kept.steps,
          refused.length,
        ),
        exactly(`calls under them that went wrong, of ${answered + wrong.length}`, wrong.length, 0),
      ],
      findings: [...told.findings, ...kept.findings, ...wrong],
    };
  } finally {
    await world[Symbol.asyncDispose]();
  }
}

interface Outcome {
  /** That went as they should. */
  readonly steps: number;
  readonly findings: readonly string[];
}

async function rolledUpAndDown(
  { home }: LightWorld,
  installation: Installation,
  { turns, progress }: VersionsSize,
): Promise<Outcome> {
  const findings: string[] = [];
  let steps = 0;
  for (let turn = 0; turn < 2 * turns; turn += 1) {
    const [from, to] = turn % 2 === 0 ? [old, next] : [next, old];
    await installation.install(to);
    const { code, stdout, stderr } = await home.run(['rollout', '--json']);
    const rolled = code === 0 ? (JSON.parse(stdout) as { from: string; to: string }) : undefined;
    if (rolled?.from === from.version && rolled.to === to.version) steps += 1;
    else findings.push(`from ${from.version} to ${to.version}: ${code} ${stdout}${stderr}`);
    progress(`from ${rolled?.from} to ${rolled?.to}`);
  }
  return { steps, findings };
}

/** The one that is installed before and after is `old`. */
async function notReplaced(
  { home, instance }: LightWorld,
  installation: Installation,
  { progress }: VersionsSize,
): Promise<Outcome> {
  const findings: string[] = [];
  let steps = 0;
  for (const version of refused) {
    const before = (await processesOf(instance.pid)).serving.at(-1);
    await installation.install(version);
    const { code, stderr } = await home.run(['rollout', '--json']);
    const { rollout } = await statusOf(home);
    const { serving } = await processesOf(instance.pid);
    const isKept = code === 3 && rollout === 'failed' && serving.at(-1) === before;
    if (isKept) steps += 1;
    else findings.push(`${version.version}: ${code}, ${rollout}, ${stderr}`);
    progress(`${version.version} was ${isKept ? '' : 'not '}refused`);
  }
  await installation.install(old);
  const { code, stderr } = await home.run(['rollout', '--json']);
  if (code !== 0) findings.push(`back to ${old.version}: ${code} ${stderr}`);
  return { steps, findings };
}

/** The folder that the program is started from, and the versions that take turns in it. */
class Installation {
  #folder = '';
  #installed = old.version;

  /** The path of the program. */
  async open(home: GatewayHome): Promise<string> {
    this.#folder = home.file('installation');
    await mkdir(this.#folder);
    for (const one of [old, next, ...refused]) await builtOtherwise(this.#of(one.version), one);
    const main = join(this.#current, 'dist', 'cli', 'main.js');
    await rename(this.#of(old.version), this.#current);
    return main;
  }

  async install({ version }: OtherVersion): Promise<void> {
    await exchanged(this.#current, this.#of(version), this.#of(this.#installed));
    this.#installed = version;
  }

  get #current(): string {
    return join(this.#folder, 'current');
  }

  #of(version: string): string {
    return join(this.#folder, version);
  }
}
