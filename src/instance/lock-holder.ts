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
  /** What the process is for; null: it only starts an instance. */
  readonly startedBy: 'serve' | 'connect' | null;
  /** It takes nothing new, and ends when its calls and servers have ended. */
  readonly isEnding: boolean;
}

/** Between its parts, none of which has one. */
const bar = '|';

/** Below 60 bytes as a rule: ext4 keeps a link of that length without a block. */
export function holderText(holder: LockHolder): string {
  const { pid, start, boot, pidNamespace, since, program, startedBy, isEnding } = holder;
  const flags = `${startedBy?.slice(0, 1) ?? ''}${isEnding ? 'e' : ''}`;
  return [pid, start, boot, pidNamespace, timeText(since), program, flags].join(bar);
}

/** Undefined if the text names nobody. */
export function holderIn(text: string): LockHolder | undefined {
  const [pid = '', start = '', boot = '', pidNamespace = '', time = '', program = '', flags] =
    text.split(bar);
  const since = timeIn(time);
  if (!/^[1-9]\d{0,9}$/.test(pid) || since === undefined || flags === undefined) return undefined;
  const startedBy = startedByIn(flags);
  const isEnding = flags.endsWith('e');
  return { pid: Number(pid), start, boot, pidNamespace, program, since, startedBy, isEnding };
}

/** What a holder that has ended leaves behind. */
export interface LockEnd {
  /** Wall time. */
  readonly endedAt: number;
  /** Somebody has asked for it with `holdfast shutdown`. */
  readonly isAsked: boolean;
  readonly startedBy: LockHolder['startedBy'];
}

export function endText({ endedAt, isAsked, startedBy }: LockEnd): string {
  const how = isAsked ? 'shutdown' : 'ended';
  return [how, timeText(endedAt), startedBy?.slice(0, 1) ?? ''].join(bar);
}

/** Undefined if it has not ended in good order. */
export function endIn(text: string): LockEnd | undefined {
  const [how, time = '', flags = ''] = text.split(bar);
  const endedAt = timeIn(time);
  if ((how !== 'shutdown' && how !== 'ended') || endedAt === undefined) return undefined;
  return { endedAt, isAsked: how === 'shutdown', startedBy: startedByIn(flags) };
}

function startedByIn(flags: string): LockHolder['startedBy'] {
  return flags.startsWith('s') ? 'serve' : flags.startsWith('c') ? 'connect' : null;
}

/** What a lock file of an older program says, as such a text; it was JSON, and empty if it was released. */
export function textOfFile(json: string): string {
  try {
    const { pid, start, boot, pidNamespace, program, since } = JSON.parse(json);
    const facts = { pid, start, program, since, startedBy: null, isEnding: false };
    return holderText({
      ...facts,
      boot: shortBoot(String(boot)),
      pidNamespace: shortNamespace(String(pidNamespace)),
    });
  } catch {
    return '';
  }
}

function timeText(time: number): string {
  return Math.trunc(time).toString(36);
}

function timeIn(text: string): number | undefined {
  return /^[0-9a-z]{1,10}$/.test(text) ? Number.parseInt(text, 36) : undefined;
}

const procDir = '/proc';

/** A part of the id is enough to tell two boots apart. */
function shortBoot(id: string): string {
  return id.replaceAll('-', '').slice(0, 10);
}

/** The number in `pid:[4026531836]`. */
function shortNamespace(id: string): string {
  return id.replace(/\D/g, '');
}

function shortBootId(): string {
  return shortBoot(bootId(procDir));
}

function shortPidNamespace(): string {
  return shortNamespace(pidNamespaceId(procDir));
}

/** This process, or the one that it serves for. */
export async function ownHolder(
  program: string,
  since: number,
  pid: number = process.pid,
): Promise<LockHolder> {
  const found = await systemProcesses(procDir).find(pid);
  return {
    pid,
    start: found?.start ?? '',
    boot: shortBootId(),
    pidNamespace: shortPidNamespace(),
    program,
    since,
    startedBy: null,
    isEnding: false,
  };
}

/** How long a process that cannot be judged by its pid may take to end after it has said so. */
export const foreignEndMs = 60_000;

/** Undefined: it runs in another pid namespace, so that its pid says nothing here. */
export async function isAlive(holder: LockHolder): Promise<boolean | undefined> {
  if (holder.boot !== shortBootId()) return false;
  if (holder.pidNamespace !== shortPidNamespace()) return undefined;
  const found = await systemProcesses(procDir).find(holder.pid);
  return isSameProcess(holder, found) && found?.isZombie === false;
}
