// Who holds the lock of an instance, as the lock says it in one short text, and whether that process still lives. A
// pid alone may belong to another process a moment later; it counts together with its start time,
// within one boot of the machine and one pid namespace.

import { bootId, pidNamespaceId } from '../supervise/process/contain/instance-record.ts';
import { isSameProcess } from '../supervise/process/watch/process-table.ts';
import { systemProcesses } from '../supervise/process/watch/system-processes.ts';

export interface LockHolder {
  readonly pid: number;
  /** When the process was started, as the system counts it. */
  readonly start: string;
  readonly boot: string;
  readonly pidNamespace: string;
  readonly program: string;
  /** Wall time. */
  readonly since: number;
}

/** Between its parts, none of which has one. */
const bar = '|';

/** Below 60 bytes as a rule: ext4 keeps a link of that length without a block. */
export function holderText(holder: LockHolder): string {
  const { pid, start, boot, pidNamespace, since, program } = holder;
  return [pid, start, boot, pidNamespace, Math.trunc(since).toString(36), program].join(bar);
}

/** Undefined if the text names nobody. */
export function holderIn(text: string): LockHolder | undefined {
  const [pid = '', start = '', boot = '', pidNamespace = '', since = '', program] = text.split(bar);
  const isWhole = /^[1-9]\d{0,9}$/.test(pid) && /^[0-9a-z]{1,10}$/.test(since);
  if (!isWhole || program === undefined) return undefined;
  return {
    ...{ pid: Number(pid), start, boot, pidNamespace, program },
    since: Number.parseInt(since, 36),
  };
}

const procDir = '/proc';

/** A part of the id is enough to tell two boots apart. */
function shortBootId(): string {
  return bootId(procDir).replaceAll('-', '').slice(0, 12);
}

/** The number in `pid:[4026531836]`. */
function shortPidNamespace(): string {
  return pidNamespaceId(procDir).replace(/\D/g, '');
}

/** This process. */
export async function ownHolder(program: string, since: number): Promise<LockHolder> {
  const found = await systemProcesses(procDir).find(process.pid);
  return {
    pid: process.pid,
    start: found?.start ?? '',
    boot: shortBootId(),
    pidNamespace: shortPidNamespace(),
    program,
    since,
  };
}

/** Undefined: it runs in another pid namespace, so that its pid says nothing here. */
export async function isAlive(holder: LockHolder): Promise<boolean | undefined> {
  if (holder.boot !== shortBootId()) return false;
  if (holder.pidNamespace !== shortPidNamespace()) return undefined;
  const found = await systemProcesses(procDir).find(holder.pid);
  return isSameProcess(holder, found) && found?.isZombie === false;
}
