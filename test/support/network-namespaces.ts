// Two network namespaces that are joined by a pair of virtual devices, as two machines by a cable, and what can happen
// to the cable: it is pulled out, nothing passes in one direction, or it is slow and loses packets. Needs root. What is
// dropped in one direction is sent to a hardware address that nobody has, so that the sender hears nothing of it.
// Slow and lossy is `netem` where the kernel has it; otherwise a narrow shaper with a short queue, which holds packets
// up and loses those that do not fit.

import { spawnSync } from 'node:child_process';

export const linkFaults = ['down', 'no-requests', 'no-answers', 'slow'] as const;
export type LinkFault = (typeof linkFaults)[number];

type Side = 'broker' | 'worker';

interface End {
  readonly namespace: string;
  readonly device: string;
  readonly address: string;
  readonly other: string;
}

/** Nobody has it. */
const nobody = '02:00:00:00:00:99';
let made = 0;

export class NetworkNamespaces implements Disposable {
  readonly #ends: Readonly<Record<Side, End>>;
  /** How `slow` is made here. */
  readonly slowness: 'netem' | 'tbf';
  #fault: LinkFault | undefined;

  private constructor(ends: Readonly<Record<Side, End>>, slowness: 'netem' | 'tbf') {
    this.#ends = ends;
    this.slowness = slowness;
  }

  /** Why there can be none here, in words, if that is so. */
  static make(): NetworkNamespaces | string {
    made += 1;
    const name = `hf-${process.pid}-${made}`;
    const ends = {
      broker: {
        namespace: `${name}-b`,
        device: 'hf-b',
        address: '10.231.0.1',
        other: '10.231.0.2',
      },
      worker: {
        namespace: `${name}-w`,
        device: 'hf-w',
        address: '10.231.0.2',
        other: '10.231.0.1',
      },
    } as const;
    try {
      join(ends.broker, ends.worker);
      const isThere = tried('tc', ['-n', ends.worker.namespace, ...netem(ends.worker)]);
      const found = new NetworkNamespaces(ends, isThere === undefined ? 'netem' : 'tbf');
      found.mend();
      return found;
    } catch (error) {
      for (const { namespace } of Object.values(ends)) tried('ip', ['netns', 'del', namespace]);
      return (error as Error).message;
    }
  }

  /** What the broker is reached at from the other side. */
  get address(): string {
    return this.#ends.broker.address;
  }

  /** The program and its arguments that run a command on this side. */
  inside(side: Side): readonly string[] {
    return ['ip', 'netns', 'exec', this.#ends[side].namespace];
  }

  /** Connections are given up after so few repetitions, a second or two; on both sides, for those that are made from now on. */
  hurry(repetitions: number): void {
    for (const side of ['broker', 'worker'] as const) {
      const [program = '', ...words] = this.inside(side);
      const setting = `echo ${repetitions} > /proc/sys/net/ipv4/tcp_retries2`;
      run(program, [...words, 'sh', '-c', setting]);
    }
  }

  damage(fault: LinkFault): void {
    this.#fault = fault;
    const { broker, worker } = this.#ends;
    if (fault === 'down') run('ip', ['-n', worker.namespace, 'link', 'set', worker.device, 'down']);
    else if (fault === 'no-requests') mislead(worker);
    else if (fault === 'no-answers') mislead(broker);
    else for (const end of [broker, worker]) this.#slow(end);
  }

  mend(): void {
    const { broker, worker } = this.#ends;
    run('ip', ['-n', worker.namespace, 'link', 'set', worker.device, 'up']);
    for (const { namespace, device, other } of [broker, worker]) {
      tried('ip', ['-n', namespace, 'neigh', 'del', other, 'dev', device]);
      tried('tc', ['-n', namespace, 'qdisc', 'del', 'dev', device, 'root']);
    }
    this.#fault = undefined;
  }

  get fault(): LinkFault | undefined {
    return this.#fault;
  }

  /** With everything in them. */
  [Symbol.dispose](): void {
    for (const { namespace } of Object.values(this.#ends)) tried('ip', ['netns', 'del', namespace]);
  }

  #slow(end: End): void {
    const { namespace, device } = end;
    const shaper = ['qdisc', 'replace', 'dev', device, 'root', 'tbf'];
    const words = [...shaper, 'rate', '128kbit', 'burst', '2kb', 'limit', '6kb'];
    run('tc', ['-n', namespace, ...(this.slowness === 'netem' ? netem(end) : words)]);
  }
}

/** A cable between two new namespaces. */
function join(...ends: readonly [End, End]): void {
  const [one, other] = ends;
  for (const { namespace } of ends) run('ip', ['netns', 'add', namespace]);
  const pair = ['link', 'add', one.device, 'type', 'veth', 'peer', 'name', other.device];
  run('ip', ['-n', one.namespace, ...pair, 'netns', other.namespace]);
  for (const { namespace, device, address } of ends) {
    run('ip', ['-n', namespace, 'addr', 'add', `${address}/24`, 'dev', device]);
    run('ip', ['-n', namespace, 'link', 'set', device, 'up']);
    run('ip', ['-n', namespace, 'link', 'set', 'lo', 'up']);
  }
}

/** Whatever this end sends is lost. */
function mislead({ namespace, device, other }: End): void {
  const entry = [other, 'lladdr', nobody, 'dev', device, 'nud', 'permanent'];
  run('ip', ['-n', namespace, 'neigh', 'replace', ...entry]);
}

function netem({ device }: End): readonly string[] {
  const shape = ['qdisc', 'replace', 'dev', device, 'root', 'netem'];
  return [...shape, 'delay', '150ms', '50ms', 'loss', '10%'];
}

function run(program: string, words: readonly string[]): void {
  const refusal = tried(program, words);
  if (refusal !== undefined) throw new Error(refusal);
}

/** What went wrong, in words. */
function tried(program: string, words: readonly string[]): string | undefined {
  const { error, status, stderr } = spawnSync(program, [...words]);
  if (error !== undefined) return `${program} cannot be run (${error.message})`;
  if (status === 0) return undefined;
  return `${program} ${words.join(' ')}: ${stderr.toString().trim().split('\n')[0]}`;
}
