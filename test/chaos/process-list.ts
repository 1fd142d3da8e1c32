// The processes of this machine as /proc shows them, read without any code of the product: the judge
// of what is left behind must not share an eye with the accused.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface ProcessSeen {
  readonly pid: number;
  readonly parent: number;
  readonly isZombie: boolean;
}

export function allProcesses(): readonly ProcessSeen[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    const stat = readProc(pid, 'stat');
    if (stat === '') return [];
    // The name may itself contain spaces and brackets.
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return [{ pid: Number(pid), parent: Number(parent), isZombie: state === 'Z' }];
  });
}

export function argumentsOf(pid: number): readonly string[] {
  return readProc(pid, 'cmdline').split('\0').slice(0, -1);
}

/** Does the process say one of these words, in its command line or in its environment? */
export function mentions(pid: number, words: readonly string[]): boolean {
  const text = readProc(pid, 'cmdline') + readProc(pid, 'environ');
  return words.some((word) => text.includes(word));
}

/** A variable that the process was started with. */
export function variableOf(pid: number, name: string): string | undefined {
  const words = readProc(pid, 'environ').split('\0');
  return words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** Does it hear SIGHUP, which otherwise ends it? */
export function catchesHangups(pid: number): boolean {
  const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readProc(pid, 'status'))?.[1];
  return caught !== undefined && BigInt(`0x${caught}`) % 2n === 1n;
}

export function below(root: number, rows: readonly ProcessSeen[]): readonly ProcessSeen[] {
  const found: ProcessSeen[] = [];
  const parents = [root];
  for (const parent of parents) {
    const children = rows.filter((row) => row.parent === parent);
    found.push(...children);
    parents.push(...children.map(({ pid }) => pid));
  }
  return found;
}

/** What a process has open, one word for each descriptor: a kind, or the path of a file. */
export function descriptorsOf(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  const ends = tcpEnds(pid);
  return readdirSync(folder).flatMap((name) => {
    try {
      const target = readlinkSync(`${folder}/${name}`);
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      return [ends.get(inode ?? '') ?? target.replace(/:\[\d+\]$/, '')];
    } catch {
      return []; // closed between being listed and being read
    }
  });
}

/** The TCP sockets that a process can have, by inode. */
function tcpEnds(pid: number): ReadonlyMap<string, string> {
  const rows = readProc(pid, 'net/tcp').trim().split('\n').slice(1);
  return new Map(
    rows.map((row) => {
      const [, local = '', remote = '', state = '', , , , , , inode = ''] = row.trim().split(/\s+/);
      return [inode, `tcp ${portOf(local)}-${portOf(remote)} state ${state}`];
    }),
  );
}

function portOf(address: string): number {
  return Number.parseInt(address.slice(address.indexOf(':') + 1), 16);
}

/** Empty for a process that has ended meanwhile, or is not ours to read. */
function readProc(pid: number | string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
