// A simulated MCP server on its pipes: an ordinary server of either era until a fault happens.
// At every step of the protocol it can die, hang, freeze, talk nonsense, answer twice, late, with a
// foreign id or with half a line; it can print log lines around an answer, or garbage for minutes.
// Frames arrive as the shipped code has really written them.

import type { FaultKind } from './fault-injection.ts';
import type { Program, SimChild } from './sim-child.ts';
import {
  type Answer,
  discovery,
  execute,
  foreignForm,
  forged,
  greeting,
  noSuchMethod,
  type Request,
  received,
  type ServerModel,
  toolList,
} from './sim-server.ts';
import type { World } from './world.ts';

/** Ids that the host has never given out. */
const inventedId = 1_000_000;
/** A flood is so many lines, every second or two, for so long. */
const floodLines = 400;
const longestFloodMs = 120_000;
/** More than are read before other work gets its turn. */
const mostLogLines = 1_500;
/** What every object inherits: no table of ours may know these methods. */
const inheritedNames = Object.getOwnPropertyNames(Object.prototype) as [string, ...string[]];
const rememberedProcesses = 12;

export class SimProgram implements Program {
  readonly #world: World;
  readonly #model: ServerModel;
  readonly #definition: number;
  readonly #frameBytes: number;
  /** Calls that are being worked on, by id; one that was cancelled is no longer there. */
  readonly #working = new Set<unknown>();
  readonly #waiting: string[] = [];
  /** Requests of any kind that it has read and not answered. */
  readonly #unanswered = new Set<unknown>();
  /** Of those: whether it lives. */
  readonly #probes = new Set<unknown>();
  /** Of all requests that it was ever sent. */
  readonly #seen = new Set<unknown>();
  #lastId = 0;
  #child: SimChild | undefined;
  #isReady = false;
  #isFrozen = false;
  #hasGreeted = false;
  #saidAt = 0;

  constructor(world: World, model: ServerModel, definition: number, frameBytes: number) {
    this.#world = world;
    this.#model = model;
    this.#definition = definition;
    this.#frameBytes = frameBytes;
    world.unanswered.push(this.#unanswered);
    if (world.unanswered.length > rememberedProcesses) world.unanswered.shift();
  }

  get saidAt(): number {
    return this.#saidAt;
  }

  get owesProbe(): boolean {
    return this.#isFrozen || this.#probes.size > 0;
  }

  begin(process: SimChild): void {
    this.#child = process;
    const { clock, dice, faults } = this.#world;
    if (faults.occurs('exit-at-start')) return this.#die();
    process.complain(`${this.#model.name} starts as ${process.pid}`);
    if (faults.occurs('hang-spawned')) this.#isFrozen = true;
    const slowMs = faults.occurs('slow-start') ? dice.between(100, 6_000) : 0;
    clock.later(slowMs, () => {
      this.#isReady = true;
      for (const text of this.#waiting.splice(0)) this.line(text);
    });
    this.#idle();
  }

  /** Now and then something happens to a process although nobody asks anything of it. */
  #idle(): void {
    const { clock, dice, faults } = this.#world;
    clock.later(dice.between(500, 6_000), () => {
      if (!this.#child?.isAlive) return;
      if (faults.occurs('exit-idle')) return this.#die();
      if (faults.occurs('freeze')) this.#isFrozen = true;
      if (faults.occurs('stop-reading')) this.#child.stopReading();
      if (faults.occurs('close-stdin')) this.#child.breakStdin();
      if (faults.occurs('close-stdout')) this.#child.closeStdout();
      if (faults.occurs('list-changed')) this.#notify('notifications/tools/list_changed', {});
      if (faults.occurs('server-request')) this.#ask();
      if (faults.occurs('strange-notification')) this.#notify(dice.pick(inheritedNames), {});
      if (faults.occurs('garbage-flood')) this.#flood(clock.now() + longestFloodMs);
      this.#idle();
    });
  }

  /** Garbage without end, while it goes on with its work. */
  #flood(until: number): void {
    const { clock, dice } = this.#world;
    if (!this.#isUp || clock.now() > until) return;
    this.#print('what\n'.repeat(floodLines));
    clock.later(dice.between(500, 2_500), () => this.#flood(until));
  }

  line(text: string): void {
    if (!this.#isReady) this.#waiting.push(text);
    else if (!this.#isFrozen && this.#child?.isAlive) this.#message(JSON.parse(text) as Request);
  }

  #message(message: Request): void {
    const { id, method } = message;
    if (method === 'notifications/cancelled') return this.#cancelled(message.params?.requestId);
    if (method === 'notifications/initialized') return this.#initialized();
    if (id === undefined || method === undefined) return;
    if (this.#seen.has(id)) {
      const { name } = this.#model;
      this.#world.misused(`${name} ${this.#child?.pid} was sent two requests with the id ${id}`);
    }
    this.#seen.add(id);
    this.#unanswered.add(id);
    if (method === 'ping' || method === 'server/discover') this.#probes.add(id);
    this.#lastId = Math.max(this.#lastId, Number(id));
    switch (method) {
      case 'server/discover':
        return this.#greet(id, discovery(this.#model), 'hang-discover');
      case 'initialize':
        return this.#greet(id, greeting(this.#model), 'hang-initialize');
      case 'ping':
        return this.#unlessStruck('hang-ping', () => this.#answer(id, { result: {} }));
      case 'tools/list':
        return this.#unlessStruck('hang-list', () => this.#list(id));
      case 'tools/call':
        return this.#call(id, message);
      case 'subscriptions/listen':
        return; // stays open
      default:
        this.#answer(id, noSuchMethod);
    }
  }

  #initialized(): void {
    if (this.#world.faults.occurs('hang-initialized')) this.#isFrozen = true;
  }

  #unlessStruck(kind: FaultKind, act: () => void): void {
    if (!this.#world.faults.occurs(kind)) act();
  }

  #greet(id: unknown, answer: Answer, hang: FaultKind): void {
    if (this.#hasGreeted) return this.#unlessStruck('hang-ping', () => this.#answer(id, answer));
    if (this.#world.faults.occurs('exit-before-greeting')) return this.#die();
    if (this.#model.isSilent && 'error' in answer) return;
    this.#unlessStruck(hang, () => {
      this.#hasGreeted = 'result' in answer;
      this.#answer(id, answer);
    });
  }

  #list(id: unknown): void {
    const isRefused = this.#world.faults.occurs('failed-list');
    const refused: Answer = { error: { code: -32_603, message: 'the list is out of order' } };
    this.#answer(id, isRefused ? refused : toolList(this.#definition));
  }

  // --- calls -------------------------------------------------------------------------------

  #call(id: unknown, request: Request): void {
    const { clock, ledger, faults } = this.#world;
    const call = received(this.#world, this.#model, request, {
      pid: this.#child?.pid ?? 0,
      definition: this.#definition,
    });
    this.#working.add(id);
    if (faults.occurs('exit-before-effect')) return this.#die();
    if (faults.occurs('hang-call')) return;
    this.#progress(request.params?._meta?.progressToken);
    const isRunning = () => this.#isUp && (this.#working.has(id) || faults.occurs('late-answer'));
    execute(this.#world, call, isRunning, (answer) => {
      if (faults.occurs('exit-after-effect')) return this.#die();
      if (faults.occurs('hang-after-effect')) return;
      if (!this.#working.delete(id) && !faults.occurs('late-answer')) return;
      if (this.#answer(id, answer)) ledger.answeredAt.set(call.run, clock.now());
    });
  }

  get #isUp(): boolean {
    return !this.#isFrozen && this.#child?.isAlive === true;
  }

  #progress(progressToken: unknown): void {
    const { clock, dice } = this.#world;
    if (progressToken === undefined || !dice.chance(0.1)) return;
    clock.later(dice.between(0, 3_000), () => {
      if (this.#isUp) this.#notify('notifications/progress', { progressToken, progress: 1 });
    });
  }

  #cancelled(id: unknown): void {
    this.#working.delete(id);
  }

  // --- saying something --------------------------------------------------------------------

  /** The answer, or what a fault makes of it. True if it is printed whole. */
  #answer(id: unknown, answer: Answer): boolean {
    const { dice, faults } = this.#world;
    if (faults.occurs('garbage-line')) this.#print('Listening on port 3000, have a nice day\n');
    if (faults.occurs('unknown-id')) this.#respond(inventedId + dice.between(0, 99), forged);
    if (faults.occurs('foreign-id')) this.#respond(this.#foreign(id), forged);
    const text = JSON.stringify({ jsonrpc: '2.0', id, ...answer });
    if (faults.occurs('half-line-death')) {
      this.#print(text.slice(0, dice.between(1, text.length - 1)));
      this.#die();
      return false;
    }
    if (faults.occurs('damaged-answer')) return this.#print(`${text.slice(0, -1)},\n`) && false;
    if (faults.occurs('oversized-line')) {
      const padding = ' '.repeat(this.#frameBytes);
      return this.#print(`${text.slice(0, -1)}${padding}}\n`) && false;
    }
    this.#unanswered.delete(id);
    this.#probes.delete(id);
    const isPrinted = this.#print(`${this.#logLines()}${text}\n${this.#logLines()}`);
    if (isPrinted) this.#saidAt = this.#world.clock.now();
    if (faults.occurs('duplicate-answer')) this.#respond(id, forged);
    return isPrinted;
  }

  /** What a server logs around an answer; in one piece with it. */
  #logLines(): string {
    const { dice, faults } = this.#world;
    return faults.occurs('log-lines') ? 'a log line\n'.repeat(dice.between(1, mostLogLines)) : '';
  }

  #respond(id: unknown, answer: Answer): void {
    this.#print(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
  }

  #notify(method: string, params: object): void {
    const isPrinted = this.#print(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`);
    if (isPrinted) this.#saidAt = this.#world.clock.now();
  }

  #ask(): void {
    const { dice } = this.#world;
    const method = dice.pick(['ping', 'roots/list', 'sampling/createMessage']);
    this.#print(`${JSON.stringify({ jsonrpc: '2.0', id: dice.between(0, 5), method })}\n`);
  }

  #print(text: string): boolean {
    return this.#isUp && this.#child?.print(text) === true;
  }

  #die(): void {
    this.#child?.exit(this.#world.faults.exit());
  }

  // --- ids that are not those of a call of ours ------------------------------------------------

  /** The id of another open call, or this one as another type: neither may be taken for it. */
  #foreign(id: unknown): unknown {
    const { dice, unanswered } = this.#world;
    const elsewhere = dice.pick(unanswered as [ReadonlySet<unknown>]);
    for (const other of dice.chance(0.5) ? elsewhere : []) {
      // One that was answered here: of one that is still on its way to us we could not know.
      if ((other as number) <= this.#lastId && !this.#unanswered.has(other)) return other;
    }
    return foreignForm(id, dice);
  }
}
