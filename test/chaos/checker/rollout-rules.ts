// What a rollout may cost: nothing. Calls to servers to which nobody does any harm end in a result, whatever is rolled
// over meanwhile; only what ends the gateway itself excuses one, and a rollout is no end. No other call of any server is
// told that its gateway is going away, and no request of another kind breaks off. A run in which no call was under way
// over a rollout shows nothing.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Answer, type Call, named } from './call.ts';
import type { Facts, ServerFacts } from './facts.ts';
import type { InstanceRule } from './instance-rules.ts';
import { jsonLines } from './json-lines.ts';
import type { Verdict } from './verdict.ts';

const ROLLED = 'rollouts that have taken over';
const OVER = 'rollouts: calls that were under way over one';
const SPARED = 'rollouts: of these, to servers to which nobody does any harm';
const EXCUSED = 'rollouts: calls to those servers that failed with an end of their gateway';

interface Rollout {
  readonly gateway: string;
  /** From the wish until another process had taken over. */
  readonly from: number;
  readonly to: number;
}

/** A request that is no call, and got no response. */
export interface Failed {
  readonly client: string;
  readonly gateway: string;
  readonly since: number;
  readonly at: number;
  readonly place: string;
}

export class RolloutRule {
  readonly #verdict: Verdict;
  readonly #facts: Facts;
  readonly #instances: readonly InstanceRule[];
  readonly #rollouts: Rollout[] = [];
  #over = 0;

  constructor(
    directory: string,
    facts: Facts,
    verdict: Verdict,
    instances: readonly InstanceRule[],
  ) {
    this.#verdict = verdict;
    this.#facts = facts;
    this.#instances = instances;
    if (!facts.hasRollouts) return;
    for (const name of [ROLLED, OVER, SPARED, EXCUSED]) verdict.adds(name, 0);
    const file = join(directory, 'rollouts.jsonl');
    if (existsSync(file)) this.#read(file);
    else verdict.violates('evidence', 'gateways were rolled over, but there is no rollouts.jsonl');
  }

  /** Any call that its role allowed; `sentAt` is when the first of its nonce was sent. */
  take(call: Call, server: ServerFacts, sentAt: number): void {
    const [answer] = call.answers;
    const rollout = answer === undefined ? undefined : this.#rolledDuring(call, answer);
    if (rollout !== undefined) {
      this.#over += 1;
      this.#verdict.adds(OVER);
      if (server.isSpared) this.#verdict.adds(SPARED);
    }
    if (answer === undefined || answer.kind === 'result') return;
    const isSpent = answer.fault?.code === 'budget_exceeded' && this.#hasBudget(call);
    const isLeaving = this.#facts.hasRollouts && answer.fault?.code === 'draining';
    if ((!server.isSpared && !isLeaving) || isSpent) return;
    if (this.#mayHaveEnded(call, server, sentAt)) return this.#verdict.adds(EXCUSED);
    const when = rollout === undefined ? 'and nobody rolled it over' : 'but a rollout';
    const finding = `${named(call, answer)}: nothing was done to ${server.name} and its gateway, ${when}`;
    this.#verdict.violates('rollout', finding);
  }

  /** Over HTTP: of the gateway that it names. */
  failed({ client, gateway, since, at, place }: Failed): void {
    const file = this.#facts.endsOf.get(gateway);
    const rule = this.#instances.find((one) => one.file === file);
    if (rule?.meets({ from: since, to: at }) === true) return;
    this.#verdict.violates('rollout', `client ${client}, ${place}: a request was broken off`);
  }

  /** A run in which nothing could have been found proves nothing. */
  judgeCoverage(): void {
    if (!this.#facts.hasRollouts) return;
    if (this.#rollouts.length === 0) this.#verdict.violates('evidence', 'no rollout took over');
    else if (this.#over === 0) {
      this.#verdict.violates('evidence', 'no call was under way over a rollout');
    }
  }

  #rolledDuring({ gateway, sentAt }: Call, { at }: Answer): Rollout | undefined {
    return this.#rollouts.find(
      (one) => one.gateway === gateway && one.from < at && one.to > sentAt,
    );
  }

  #hasBudget({ who }: Call): boolean {
    return who !== undefined && this.#facts.budgets.has(who.token);
  }

  #mayHaveEnded(call: Call, server: ServerFacts, sentAt: number): boolean {
    const rule = this.#instances.find((one) => one.isOurs(server));
    return rule?.mayHaveEnded(call, server, sentAt) === true;
  }

  #read(file: string): void {
    for (const line of jsonLines(file)) {
      const { t, event, gateway, from } = line.kind === 'torn' ? {} : line.value;
      if (event !== 'rolled') {
        this.#verdict.violates('evidence', `rollouts.jsonl:${line.number}: no rollout`);
        continue;
      }
      this.#verdict.adds(ROLLED);
      this.#rollouts.push({ gateway: String(gateway), from: Number(from), to: Number(t) });
    }
  }
}
