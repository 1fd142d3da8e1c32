// One child and everything below it, to be signalled, watched and ended. It records what makes this
// safe: the leader of the group, the processes seen below it (with start times, also sent to the
// reaper), and its cgroup. After the leader's exit no signal is sent to the group any more, because
// its number may be reused; the remaining processes are ended by the sweep.

import type { Clock } from '../../../kernel/clock.ts';
import type { Containment } from '../../child.ts';
import { cgroupMembers, killMembers, removeCgroup } from '../contain/cgroup.ts';
import type { InstanceRecord } from '../contain/instance-record.ts';
import { type Swept, sendSignal, settled, sweepTree } from '../end/sweep.ts';
import type { ReaperControl } from '../start/process-starter.ts';
import { isSameProcess, type ProcessIdentity, type ProcessTable } from './process-table.ts';

export interface TreeParts {
  readonly containment: Containment;
  readonly table: ProcessTable;
  readonly clock: Clock;
  readonly reaper: ReaperControl;
  readonly record: InstanceRecord;
  /** The process we started; its pid is the number of the group. */
  readonly leader: ProcessIdentity;
  /** See `childToken`. */
  readonly token: string;
  readonly cgroups: readonly string[];
}

/** What must have ended for a namespace to be empty, and which process is the server in it. */
export interface NamespaceMembers {
  readonly init: ProcessIdentity;
  readonly server: ProcessIdentity;
}

/** What another process must know to go on with a tree. */
export interface TreeState {
  readonly leader: ProcessIdentity;
  readonly token: string;
  readonly cgroups: readonly string[];
  readonly namespace: NamespaceMembers | null;
  readonly noted: readonly ProcessIdentity[];
}

export class ProcessTree {
  readonly #parts: TreeParts;
  #namespace: NamespaceMembers | null = null;
  /** Those that were alive at the last look; only those. */
  #noted = new Map<number, ProcessIdentity>();
  #noting: Promise<void> = Promise.resolve();
  #hasExited = false;
  #isHandedOver = false;
  #wasKilled = false;
  #sweeping: Promise<number> | undefined;

  constructor(parts: TreeParts, earlier?: Pick<TreeState, 'namespace' | 'noted'>) {
    this.#parts = parts;
    if (earlier !== undefined) this.#goOn(earlier);
    parts.reaper.add(parts.leader);
    for (const dir of parts.cgroups) parts.reaper.addCgroup(dir);
    parts.record.add(parts.leader, parts.cgroups);
  }

  /** Did we send SIGKILL? */
  get wasKilled(): boolean {
    return this.#wasKilled;
  }

  entered(namespace: NamespaceMembers): void {
    this.#namespace = namespace;
  }

  exited(): void {
    this.#hasExited = true;
  }

  /** What was seen of it so far. From now on nothing is done to it here, and its registrations stay. */
  async handOver(): Promise<TreeState> {
    this.#isHandedOver = true;
    await this.#noting;
    const { leader, token, cgroups } = this.#parts;
    const identity = ({ pid, start }: ProcessIdentity) => ({ pid, start });
    const members = this.#namespace;
    const namespace = members && {
      init: identity(members.init),
      server: identity(members.server),
    };
    const noted = [...this.#noted.values()].map(identity);
    return { leader: identity(leader), token, cgroups, namespace, noted };
  }

  #goOn({ namespace, noted }: Pick<TreeState, 'namespace' | 'noted'>): void {
    this.#namespace = namespace;
    this.#renew(new Map(noted.map((one) => [one.pid, one])));
  }

  /** Records the descendants, so that those that break away later are still known. */
  note(): Promise<void> {
    const { containment } = this.#parts;
    // The kernel tracks these.
    if (containment === 'pidns' || containment === 'cgroup') return Promise.resolve();
    if (this.#isHandedOver) return Promise.resolve();
    // One after the other: an older look must not overwrite the result of a newer one.
    this.#noting = this.#noting.then(() => this.#noteNow());
    return this.#noting;
  }

  /** The server's processes now, without those that only wrap it. */
  async processes(): Promise<readonly ProcessIdentity[]> {
    const { table, leader, containment, cgroups } = this.#parts;
    if (this.#namespace !== null) return table.descendants(this.#namespace.init.pid);
    if (containment === 'cgroup') {
      const rows = await Promise.all(cgroupMembers(cgroups).map((pid) => table.find(pid)));
      return rows.filter((row) => row !== null);
    }
    await this.note();
    return [leader, ...this.#noted.values()];
  }

  /**
   * To the whole group; descendants that would be lost from sight by a death are recorded first.
   */
  async signal(name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { leader, cgroups, containment } = this.#parts;
    if (name === 'SIGKILL') this.#wasKilled = true;
    await this.note();
    if (this.#hasExited || this.#isHandedOver) return;
    if (name === 'SIGKILL' && containment === 'cgroup') await killMembers(cgroups);
    if (name === 'SIGTERM') await this.#signalServer(name);
    sendSignal(-leader.pid, name);
  }

  /** Ends the remaining processes. A second call joins the first. */
  sweep(): Promise<number> {
    if (this.#isHandedOver) return Promise.resolve(0);
    this.#sweeping ??= this.#sweep();
    return this.#sweeping;
  }

  async #noteNow(): Promise<void> {
    try {
      const seen = await this.#walk();
      if (this.#sweeping === undefined && !this.#isHandedOver) this.#renew(seen);
    } catch {
      // Too many open files, or no process can be started: what was recorded before stays.
    }
  }

  /** From the leader down, and from those that have broken away before. */
  async #walk(): Promise<Map<number, ProcessIdentity>> {
    const { table, leader } = this.#parts;
    const seen = new Map<number, ProcessIdentity>();
    for (const root of [leader, ...this.#noted.values()]) {
      // A root may have ended, and its pid may belong to another process.
      if (seen.has(root.pid) || !isSameProcess(root, await table.find(root.pid))) continue;
      if (root !== leader) seen.set(root.pid, root);
      for (const { pid, start } of await table.descendants(root.pid)) {
        const known = this.#noted.get(pid);
        seen.set(pid, known?.start === start ? known : { pid, start });
      }
    }
    return seen;
  }

  #renew(seen: Map<number, ProcessIdentity>): void {
    const { reaper } = this.#parts;
    for (const [pid, one] of this.#noted) if (seen.get(pid) !== one) reaper.remove(one);
    for (const one of seen.values()) reaper.add(one);
    this.#noted = seen;
  }

  /** A server that has left the group still gets the signal. */
  async #signalServer(name: 'SIGTERM'): Promise<void> {
    if (this.#namespace === null) return;
    const { server } = this.#namespace;
    const row = await this.#parts.table.find(server.pid);
    if (row !== null && isSameProcess(server, row) && row.group !== this.#parts.leader.pid) {
      sendSignal(server.pid, name);
    }
  }

  async #sweep(): Promise<number> {
    const { table, clock, leader, token, cgroups } = this.#parts;
    const members = cgroupMembers(cgroups).length;
    await killMembers(cgroups);
    const { ended, isClean } =
      this.#namespace === null
        ? await sweepTree(table, clock, {
            known: [leader, ...this.#noted.values()],
            token,
            since: leader.start,
            members: () => cgroupMembers(cgroups),
          })
        : await this.#endNamespace(this.#namespace.init);
    // What could not be ended now stays known to the reaper and to the next start.
    if ((await this.#removeCgroups()) && isClean) this.#forget();
    return Math.max(members, ended);
  }

  #forget(): void {
    const { reaper, record, leader, cgroups } = this.#parts;
    for (const one of [leader, ...this.#noted.values()]) reaper.remove(one);
    for (const dir of cgroups) reaper.removeCgroup(dir);
    record.remove(leader, cgroups);
  }

  /** Once pid 1 of a namespace has ended, so has everybody in it: the kernel waits for the last. */
  async #endNamespace(init: ProcessIdentity): Promise<Swept> {
    const { table, clock, leader } = this.#parts;
    let left: number | undefined;
    for (const deadline = clock.now() + endMs; clock.now() < deadline; ) {
      // Undefined when it cannot be known now (too many open files).
      const row = await table.find(init.pid).catch(() => undefined);
      if (row === null || row?.isZombie === true || (row && !isSameProcess(init, row))) {
        return { ended: left ?? 0, isClean: true };
      }
      left ??= (await table.descendants(init.pid).catch(() => [])).length;
      if (row !== undefined) sendSignal(init.pid, 'SIGKILL');
      if (!this.#hasExited) sendSignal(-leader.pid, 'SIGKILL');
      await settled(clock);
    }
    return { ended: left ?? 0, isClean: false };
  }

  /** A directory stays busy for a moment after its last member has ended. */
  async #removeCgroups(): Promise<boolean> {
    const { clock, cgroups } = this.#parts;
    for (const deadline = clock.now() + endMs; clock.now() < deadline; ) {
      if (await removeCgroup({ dirs: cgroups })) return true;
      await settled(clock);
    }
    return false;
  }
}

/** What has not ended by then hangs in the kernel. */
const endMs = 2000;
