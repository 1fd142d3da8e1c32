// The checker of a chaos run: holds what the clients saw against what the servers did. It reads the
// files of the run and nothing else, and shares no code with the gateway or with the driver that made
// them, so that no mistake of theirs can be its own. Histories are read one after the other; what
// outlives one is the ledger, the calls with a key, and what the third kind of `dispatched` needs.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Report } from '../../proof/report.ts';
import { AccessBook } from './access-book.ts';
import { judgeAnswers } from './answer-rules.ts';
import { BudgetRule } from './budget-rules.ts';
import type { Call } from './call.ts';
import { judgeArrival, judgeRepetition, judgeUnasked, KeyRule } from './effect-rules.ts';
import { type Facts, readFacts, type ServerFacts } from './facts.ts';
import { readHistory } from './history-book.ts';
import { InstanceRule } from './instance-rules.ts';
import { judgeKeptAnswers } from './kept-answer-rules.ts';
import { LedgerBook, NOTHING } from './ledger-book.ts';
import { PipeEvidence } from './pipe-evidence.ts';
import { PrincipalRule } from './principal-rules.ts';
import { judgeRecord } from './record-rules.ts';
import { RolloutRule } from './rollout-rules.ts';
import { RootsRule } from './roots-rules.ts';
import { SocketHints } from './socket-hints.ts';
import { SteadyRule } from './steady-rules.ts';
import { UnreadCalls } from './unread-calls.ts';
import { Verdict } from './verdict.ts';
import { WindowEvidence } from './window-evidence.ts';

export function checkRun(directory: string): Report {
  const verdict = new Verdict();
  const facts = readFacts(directory, verdict);
  if (facts !== undefined) new Check(directory, facts, verdict).run();
  return verdict.report('chaos, checked from outside', facts !== undefined);
}

class Check {
  readonly #directory: string;
  readonly #facts: Facts;
  readonly #verdict: Verdict;
  readonly #ledger: LedgerBook;
  readonly #pipes: PipeEvidence;
  readonly #sockets: SocketHints;
  readonly #windows: WindowEvidence;
  readonly #instances: readonly InstanceRule[];
  readonly #rollouts: RolloutRule;
  readonly #budgets: BudgetRule;
  readonly #keys: KeyRule;
  readonly #roots: RootsRule;
  readonly #steady: SteadyRule;
  readonly #principals: PrincipalRule;
  readonly #unread: UnreadCalls;
  readonly #nonces = new Set<string>();
  readonly #keyed = new Map<string, { call: Call; isEnded: boolean }[]>();

  constructor(directory: string, facts: Facts, verdict: Verdict) {
    this.#directory = directory;
    this.#facts = facts;
    this.#verdict = verdict;
    for (const name of ['clients', 'calls']) verdict.adds(name, 0);
    this.#ledger = new LedgerBook(directory, verdict, facts.wallOffsetMs);
    this.#pipes = new PipeEvidence(facts, verdict);
    this.#sockets = new SocketHints(verdict);
    this.#windows = new WindowEvidence(directory, facts, verdict);
    const ends = [...facts.servers.values()].map((server) => server.ends);
    const files = [...new Set(ends)].filter((file) => file !== undefined);
    this.#instances = files.map((file) => new InstanceRule(directory, facts, verdict, file));
    this.#rollouts = new RolloutRule(directory, facts, verdict, this.#instances);
    this.#budgets = new BudgetRule(facts, verdict);
    this.#keys = new KeyRule(facts);
    this.#roots = new RootsRule(facts, verdict);
    this.#steady = new SteadyRule(verdict);
    this.#unread = new UnreadCalls(this.#ledger, verdict);
    const access = new AccessBook(directory, verdict);
    this.#principals = new PrincipalRule(access, this.#unread, verdict);
  }

  run(): void {
    const names = readdirSync(this.#directory).filter((name) => /^history-.+\.jsonl$/.test(name));
    for (const name of names.sort()) this.#history(join(this.#directory, name));
    for (const group of this.#keyed.values()) {
      const calls = group.map(({ call }) => call);
      for (const { call, isEnded } of group) this.#judge(call, isEnded, calls);
      const asked = calls.filter((call) => !this.#principals.isDenied(call));
      judgeKeptAnswers(asked, this.#verdict);
    }
    if (this.#nonces.size === 0) this.#verdict.violates('evidence', 'no client made a call');
    this.#roots.judgeCoverage();
    this.#rollouts.judgeCoverage();
    this.#budgets.judge((file) => this.#instances.find((one) => one.file === file)?.ends ?? 0);
    this.#keys.judge(this.#ledger, this.#verdict);
    this.#pipes.judge();
    this.#steady.judge();
    this.#sockets.tell();
    this.#windows.judge();
    this.#unread.judge();
    for (const rule of this.#instances) rule.judge();
    judgeUnasked(this.#ledger, this.#verdict);
  }

  #history(file: string): void {
    const { calls, isEnded, roots, holding, failed } = readHistory(
      file,
      this.#facts,
      this.#verdict,
    );
    for (const one of failed) this.#rollouts.failed(one);
    if (holding !== undefined) this.#principals.holding(holding);
    this.#verdict.adds('clients');
    for (const call of calls) {
      this.#count(call);
      this.#keys.take(call);
      this.#roots.take(call, roots, this.#ledger.of(call.nonce) !== undefined);
      if (call.key === undefined) this.#judge(call, isEnded, [call]);
      else this.#keyed.set(call.nonce, [...(this.#keyed.get(call.nonce) ?? []), { call, isEnded }]);
    }
  }

  #count(call: Call): void {
    const { nonce, answers, key, place } = call;
    this.#verdict.adds('calls');
    for (const { kind, fault } of answers) {
      this.#verdict.adds(`answers: ${kind === 'fault' ? `fault ${fault?.code}` : String(kind)}`);
      if (fault !== undefined) this.#verdict.adds(`dispatched: ${fault.dispatched}`);
    }
    const isAgain = this.#nonces.has(nonce) && (key === undefined || !this.#keyed.has(nonce));
    if (isAgain) this.#verdict.violates('evidence', `${place} uses the nonce ${nonce} again`);
    this.#nonces.add(nonce);
  }

  /** `group`: all calls of this nonce. */
  #judge(call: Call, isEnded: boolean, group: readonly Call[]): void {
    const trace = this.#ledger.of(call.nonce) ?? NOTHING;
    const server = this.#facts.servers.get(call.server);
    trace.isAsked = true;
    if (server === undefined || !server.tools.has(call.tool)) {
      const finding = `${call.place}: facts.json does not know ${call.server}/${call.tool}`;
      return this.#verdict.violates('evidence', finding);
    }
    const isCutOff = this.#instances.some((rule) => rule.isCutOff(call, server));
    if (!isCutOff && !this.#principals.isExcused(call)) {
      judgeAnswers(call, server, isEnded, trace, this.#verdict);
    }
    this.#principals.take(call, trace, group);
    judgeArrival(call, trace, this.#verdict);
    for (const rule of this.#instances) rule.take(call, server);
    const firstSentAt = Math.min(...group.map((member) => member.sentAt));
    const mayHaveEnded = this.#instances.some(
      (rule) => rule.isOurs(server) && rule.mayHaveEnded(call, server, firstSentAt),
    );
    if (!mayHaveEnded) this.#steady.take(call, server, trace);
    if (!this.#principals.isDenied(call)) this.#rollouts.take(call, server, firstSentAt);
    this.#budgets.take(call);
    if (call === group[0]) judgeRepetition(call, server, trace, this.#verdict);
    const judged = { call, server, trace, group };
    for (const answer of call.answers) {
      if (answer.fault === undefined) continue;
      const record = { ...judged, answer, fault: answer.fault };
      const isLost = this.#instances.some((rule) => rule.isLost(record));
      if (!isLost) judgeRecord(record, this.#verdict);
    }
    this.#unread.take(call, trace, firstSentAt);
    // There a generation names several processes, and nothing tells which.
    if (server.hasInstances) return;
    const known = this.#inEpoch(call, server, firstSentAt);
    if (known === undefined) return;
    if (server.transport === 'stdio') this.#pipes.take({ ...judged, call: known }, firstSentAt);
    else this.#sockets.take(known, trace, firstSentAt);
    this.#windows.take(call, trace, firstSentAt);
  }

  /** Generations are counted anew after each end of a gateway; a call that meets one is of neither time. */
  #inEpoch(call: Call, server: ServerFacts, sentAt: number): Call | undefined {
    const rule = this.#instances.find((one) => one.isOurs(server));
    if (rule === undefined) return call;
    const epoch = rule.epochOf(call, server, sentAt);
    if (epoch === undefined) return undefined;
    return epoch === 0 ? call : { ...call, gateway: `${call.gateway} after ${epoch} ends` };
  }
}
