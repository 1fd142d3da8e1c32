// Damaged files: each kind of file in the state directory emptied, cut, overwritten, replaced by a
// folder or a link, or closed to us. The gateway starts and serves, says which file it is and what to
// do, and throws nothing away. A token whose record is damaged is neither replaced by another one nor
// forgotten in silence; when its user has done what was said, there is a new one.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { FailedCall } from './asking.ts';
import { DidNotStart, LivedInHome, toolName } from './lived-in-home.ts';
import type { Shipped } from './shipped.ts';
import { sideBySide } from './side-by-side.ts';
import type { Violation } from './subjects/subject.ts';
import type { Tally } from './tally.ts';

export interface DamageOptions {
  readonly shipped: Shipped;
  readonly tally: Tally;
  readonly signal: AbortSignal;
  /** Only every so manieth case; 1 is all of them. */
  readonly every: number;
}

interface Damage {
  readonly name: string;
  /** Does it to the file; the result tells later whether what was there can still be found. */
  readonly harm: (path: string, home: LivedInHome) => () => boolean;
}

const garbage = Buffer.from('\u0007no file of ours\u0000\nat all\n\u00ff\u00fe');

const damages: readonly Damage[] = [
  {
    name: 'emptied',
    harm: (path) => {
      truncateSync(path, 0);
      return () => true;
    },
  },
  {
    name: 'cut in the middle',
    harm: (path) => {
      truncateSync(path, Math.floor(statSync(path).size / 2));
      const left = readFileSync(path);
      const whole = left.subarray(0, left.lastIndexOf('\n') + 1);
      return () => isSomewhereBeside(path, (file) => bytesOf(file).indexOf(whole) === 0);
    },
  },
  {
    name: 'overwritten with garbage',
    harm: (path) => {
      writeFileSync(path, garbage);
      return () => isSomewhereBeside(path, (file) => bytesOf(file).equals(garbage));
    },
  },
  {
    name: 'replaced by a folder',
    harm: (path) => {
      renameSync(path, `${path}.away`);
      mkdirSync(join(path, 'inside'), { recursive: true });
      return () => isSomewhereBeside(path, (file) => existsSync(join(file, 'inside')));
    },
  },
  {
    name: 'replaced by a link',
    harm: (path, { home }) => {
      const elsewhere = home.file('elsewhere');
      renameSync(path, elsewhere);
      symlinkSync(elsewhere, path);
      const before = readFileSync(elsewhere);
      return () => bytesOf(elsewhere).equals(before);
    },
  },
  {
    name: 'closed to us',
    harm: (path, { home }) => {
      const before = readFileSync(path);
      const under = [path.slice(home.state.length + 1)];
      const ops = ['read', 'open', 'write', 'truncate'] as const;
      home.faultPlan.set({ fail: { under, ops, code: 'EACCES', times: null } });
      return () => isSomewhereBeside(path, (file) => bytesOf(file).indexOf(before) === 0);
    },
  },
];

/** What nobody can see: an empty log is a log, and what a link leads to is judged by its content. */
const unseen: ReadonlySet<string> = new Set(['event log emptied', 'instances replaced by a link']);

export async function damageFiles(options: DamageOptions): Promise<void> {
  const { shipped, tally, signal, every } = options;
  const kinds = ['tokens', 'catalogues', 'verdicts', 'event log', 'instances'];
  const cases = kinds.flatMap((kind) => damages.map((damage) => ({ kind, damage })));
  const chosen = cases.filter((_, number) => number % every === 0);
  await sideBySide(chosen, async (queue, lane) => {
    using home = new LivedInHome(shipped, `damage${lane}`);
    await home.settle();
    for (const { kind, damage } of queue) {
      if (signal.aborted) break;
      tally.damages += 1;
      tally.found(await tryOne(home, kind, damage), `${kind} ${damage.name}`);
      home.home.faultPlan.set({});
    }
    tally.starts += home.home.starts;
  });
}

async function tryOne(
  home: LivedInHome,
  kind: string,
  damage: Damage,
): Promise<readonly Violation[]> {
  home.restore();
  const file = home.kinds().find(([known]) => known === kind)?.[1];
  if (file === undefined) throw new Error(`there is no file of the kind ${kind}`);
  const path = home.home.inState(file);
  const isKept = damage.harm(path, home);
  const isSeen = !unseen.has(`${kind} ${damage.name}`);
  try {
    const found = await judge(home, kind, path, isSeen);
    if (!isKept()) found.push({ wrong: 'emptied', text: `${path} is gone` });
    return kind === 'tokens' ? [...found, ...(await mend(home, path))] : found;
  } catch (error) {
    if (error instanceof DidNotStart) return [{ wrong: 'start', text: error.message }];
    if (error instanceof FailedCall) return [{ wrong: 'call', text: error.message }];
    throw error;
  }
}

async function judge(
  home: LivedInHome,
  kind: string,
  path: string,
  isSeen: boolean,
): Promise<Violation[]> {
  const before = home.token;
  const { life, client, token } = await home.visit();
  const found: Violation[] = [];
  if (token !== null) {
    found.push({ wrong: 'lost', text: 'another token was made and printed' });
    home.token = before;
  } else if (kind === 'tokens') {
    const { status } = await client.ask('server/discover');
    if (status !== 401) found.push({ wrong: 'phantom', text: `a lost token gives ${status}` });
  } else {
    await client.tools();
    await client.call(`server__${toolName}`);
  }
  const { code, stderr } = await life.process.stop();
  life[Symbol.dispose]();
  if (code !== 0) found.push({ wrong: 'start', text: `it ended with ${code}: ${stderr}` });
  const isTold = stderr.split('\n').some((line) => line.includes(path) && remedy.test(line));
  if (!isTold && isSeen) {
    found.push({ wrong: 'unreported', text: `said was: ${stderr.trim() || 'nothing'}` });
  }
  return found;
}

/** A line that says what to do. */
const remedy = /: .*\b(put|delete|look|move|remove|make|free|set|check|raise|nothing)\b/;

/** Does what the connection page says about a lost token. */
async function mend(home: LivedInHome, path: string): Promise<readonly Violation[]> {
  home.home.faultPlan.set({});
  rmSync(dirname(path), { recursive: true });
  const before = home.token;
  const { life, client, token } = await home.visit();
  const { status } = await client.ask('server/discover');
  await life.process.stop();
  life[Symbol.dispose]();
  home.token = before;
  if (token !== null && status === 200) return [];
  return [{ wrong: 'lost', text: `after its folder was removed: token ${token}, ${status}` }];
}

function isSomewhereBeside(path: string, is: (file: string) => boolean): boolean {
  const folder = dirname(path);
  return readdirSync(folder).some((name) => is(join(folder, name)));
}

/** Nothing, if it is no file. */
function bytesOf(file: string): Buffer {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file) : Buffer.alloc(0);
}
