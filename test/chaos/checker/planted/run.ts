// A chaos run written by hand, for the tests of the checker: calls, answers and ledger lines in the
// order in which they are said, each a millisecond after the last. It knows the format of the files and
// none of the rules.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from '../../../proof/report.ts';
import { checkRun } from '../check.ts';

type Members = Readonly<Record<string, unknown>>;

const TOOLS = { add: { isSafe: false }, echo: { isSafe: true } };
const ROOTED = { roots: { isSafe: true, isKept: true, tellsRoots: true } };

export const FACTS = {
  servers: [
    { name: 'pipe', transport: 'stdio', concurrency: 64, queue: 256, tools: TOOLS },
    { name: 'solo', transport: 'stdio', concurrency: 1, queue: 256, tools: TOOLS },
    { name: 'web', transport: 'http', concurrency: 64, queue: 256, tools: TOOLS },
  ],
  pipeBytes: 200_000,
  seed: 1,
  build: 'none',
};

/** With one more, which tells the roots that it knows. */
export const ROOTED_FACTS = {
  ...FACTS,
  servers: [
    ...FACTS.servers,
    { ...FACTS.servers[0], name: 'rooted', hasSeveral: true, tools: { ...TOOLS, ...ROOTED } },
  ],
};

/** With one more, behind an instance that ends and is followed by another. */
export const INSTANCE_FACTS = {
  ...FACTS,
  servers: [...FACTS.servers, { ...FACTS.servers[0], name: 'far', hasInstances: true }],
};

/** With one more, behind an orchestrator: its ends are in a file of their own. */
export const REMOTE_FACTS = {
  ...INSTANCE_FACTS,
  servers: [
    ...INSTANCE_FACTS.servers,
    {
      ...{ ...FACTS.servers[0], name: 'remote', hasInstances: true },
      ...{ ends: 'remote.jsonl', reachedBy: 'boss' },
    },
  ],
};

/** With one more, to which nobody does any harm, behind a gateway that is rolled over and killed; and a budget. */
export const ROLLED_FACTS = {
  ...FACTS,
  hasRollouts: true,
  gateways: { 'the gateway': 'ends-shared.jsonl' },
  budgets: { ann: { calls: 3, block: 1, ends: 'ends-shared.jsonl' } },
  servers: [
    ...FACTS.servers.map((server) => ({ ...server, ends: 'ends-shared.jsonl' })),
    { ...FACTS.servers[0], name: 'calm', isSpared: true, ends: 'ends-shared.jsonl' },
  ],
};

/** With two more: one to which nothing happens, and one that goes and comes. */
export const EDITED_FACTS = {
  ...FACTS,
  servers: [
    ...FACTS.servers,
    { ...FACTS.servers[0], name: 'still', isSteady: true, mayBeUnknown: ['echo'] },
    { ...FACTS.servers[0], name: 'guest', mayBeUnknown: ['add', 'echo'] },
  ],
};

/** With two more, behind a gateway of principals: their tools are unknown to those who may not use them. */
export const GUARDED_FACTS = {
  ...FACTS,
  wallOffsetMs: 0,
  servers: [
    ...FACTS.servers,
    { ...FACTS.servers[0], name: 'docs', mayBeUnknown: ['add', 'echo'] },
    { ...FACTS.servers[0], name: 'files', mayBeUnknown: ['add', 'echo'] },
  ],
};

export class PlantedRun {
  facts: Members = FACTS;
  /** By the name of the file: its lines. A file that is deleted here is not written. */
  readonly files = new Map<string, string[]>([
    ['windows.jsonl', []],
    ['history-a.jsonl', []],
    ['ledger-pipe.jsonl', []],
  ]);
  now = 0;
  #lastId = 0;
  readonly #calls = new Map<
    string,
    { client: string; id: unknown; server: string; tool: string }
  >();

  /** A client sends a call to pipe/add, unless `more` says otherwise. */
  call(nonce: string, more: Members = {}): this {
    const { client = 'a', server = 'pipe', tool = 'add', id, ...rest } = more;
    this.#lastId += 1;
    const of = {
      client: String(client),
      id: id ?? this.#lastId,
      server: String(server),
      tool: String(tool),
    };
    this.#calls.set(nonce, of);
    const { client: _, ...members } = of;
    return this.history(of.client, { event: 'call', nonce, bytes: 300, ...members, ...rest });
  }

  /** The answer to the last call of this nonce. */
  answer(nonce: string, kind: string, more: Members = {}): this {
    const { client, id } = this.#of(nonce);
    return this.history(client, { event: 'answer', id, nonce, kind, ...more });
  }

  result(nonce: string): this {
    return this.answer(nonce, 'result', { echo: nonce });
  }

  fault(nonce: string, code: string, dispatched: string, more: Members = {}): this {
    const { server, tool } = this.#of(nonce);
    const attempts = dispatched === 'no' ? 0 : 1;
    const record = { server, tool, code, dispatched, attempts, retryable: false, generation: 1 };
    return this.answer(nonce, 'fault', { fault: { ...record, detail: code, ...more } });
  }

  cancel(nonce: string): this {
    const { client, id } = this.#of(nonce);
    return this.history(client, { event: 'cancel', id, nonce });
  }

  /** The answer has begun to come, and is left unread. */
  unread(nonce: string): this {
    const { client, id } = this.#of(nonce);
    return this.history(client, { event: 'unread', id });
  }

  leave(event: 'gone' | 'cut', ...nonces: string[]): this {
    const ids = nonces.map((nonce) => this.#of(nonce).id);
    return this.history('a', { event, ids });
  }

  /** The server notes the phases ("received begin done") of this call. */
  ledger(nonce: string, phases: string, more: Members = {}): this {
    const { server, tool } = this.#of(nonce);
    const { run = `${server}-1`, at = server, ...rest } = more;
    for (const phase of phases.split(' ')) {
      this.line(`ledger-${at}.jsonl`, { at: this.now, pid: 2, run, tool, nonce, phase, ...rest });
    }
    return this;
  }

  /** A whole call that went well. */
  fine(nonce: string, more: Members = {}, run?: string): this {
    this.call(nonce, more).ledger(nonce, 'received begin done', run === undefined ? {} : { run });
    return this.result(nonce);
  }

  window(event: 'down' | 'up', server = 'web'): this {
    return this.line('windows.jsonl', { t: this.#tick(), server, event });
  }

  /** A rollout of the gateway that was asked for at this time has taken over now. */
  rolled(from = this.now): this {
    const line = { t: this.#tick(), event: 'rolled', gateway: 'the gateway', from };
    return this.line('rollouts.jsonl', line);
  }

  /** The serving process of that gateway is killed, or another one serves. */
  killed(event: 'ending' | 'ended', which = 1): this {
    return this.line('ends-shared.jsonl', { t: this.#tick(), event, which });
  }

  /** The driver begins to end an instance, or has seen it gone. */
  instance(event: 'ending' | 'ended'): this {
    return this.line('instances.jsonl', { t: this.#tick(), event, way: 'SIGKILL' });
  }

  /** The same of a broker, or of an orchestrator. */
  remote(event: 'ending' | 'ended'): this {
    return this.line('remote.jsonl', { t: this.#tick(), event, what: 'broker' });
  }

  /** The roles of the config are changed: by role, the tools. */
  roles(phase: 'writing' | 'in use', roles: Members): this {
    return this.line('access.jsonl', { t: this.#tick(), event: 'roles', phase, roles });
  }

  token(phase: 'added' | 'revoking' | 'revoked' | 'over', token: string, role = ''): this {
    return this.line('access.jsonl', { t: this.#tick(), event: 'token', phase, token, role });
  }

  history(client: string, members: Members): this {
    return this.line(`history-${client}.jsonl`, { t: this.#tick(), ...members });
  }

  line(file: string, value: Members | string): this {
    const lines = this.files.get(file) ?? [];
    lines.push(typeof value === 'string' ? value : JSON.stringify(value));
    this.files.set(file, lines);
    return this;
  }

  /** Ends every history that has not ended, writes the files and lets the checker read them. */
  check({ isEnded = true } = {}): Report {
    const directory = mkdtempSync(join(tmpdir(), 'planted-run-'));
    try {
      if (isEnded) this.#end();
      for (const [name, lines] of this.files) {
        writeFileSync(join(directory, name), lines.map((line) => `${line}\n`).join(''));
      }
      if (!this.files.has('facts.json')) {
        writeFileSync(join(directory, 'facts.json'), JSON.stringify(this.facts));
      }
      return checkRun(directory);
    } finally {
      rmSync(directory, { recursive: true });
    }
  }

  #end(): void {
    for (const [name, lines] of this.files) {
      const isOpen = name.startsWith('history-') && !lines.at(-1)?.includes('"event":"end"');
      if (isOpen) lines.push(JSON.stringify({ t: this.#tick(), event: 'end' }));
    }
  }

  /** Of the last call with this nonce. */
  idOf(nonce: string): unknown {
    return this.#of(nonce).id;
  }

  #of(nonce: string) {
    const call = this.#calls.get(nonce);
    if (call === undefined) throw new Error(`no call has the nonce ${nonce}`);
    return call;
  }

  #tick(): number {
    this.now += 1;
    return this.now;
  }
}

/** The rules that a report finds violated. */
export function violated({ findings }: Report): string[] {
  const rules = findings.map((finding) => /^\[(\w+)\]/.exec(finding)?.[1] ?? finding);
  return [...new Set(rules)].sort();
}
