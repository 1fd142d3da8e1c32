// Twelve bugs that must be found, as data. Each is the smallest change that a tired engineer could
// make, and breaks a promise of docs/promises.md. A proof that does not see its bug proves nothing;
// so every one of them is planted in a copy of the built code (scratch-build.ts), never in the code
// that is shipped, and looked for by the proofs as they are.

/** Which command has to find it. */
export type FinderName = 'simulation' | 'chaos';

export interface Edit {
  /** Stands exactly once where the patch is applied, or the patch does not apply. */
  readonly find: string;
  readonly replace: string;
}

export interface Patch {
  readonly id: string;
  /** What is wrong then, in a sentence. */
  readonly breaks: string;
  /** The source of what is changed, for the reader. */
  readonly file: string;
  readonly foundBy: FinderName;
  readonly promise: string;
  /** As the finder names the rules that see it, where it is not by the promise. */
  readonly rules?: readonly string[];
  /** Of what tsc wrote from the file; of the bundle where the whole gateway has to run. */
  readonly edits: readonly Edit[];
}

/** One of these has to speak. */
export function rulesOf({ promise, rules = [promise] }: Patch): readonly string[] {
  return rules;
}

export const patches: readonly Patch[] = [
  {
    id: 'replay-after-maybe',
    breaks: 'A call that may have left us is sent again as if it had never been sent.',
    file: 'src/policy/replay.ts',
    foundBy: 'simulation',
    promise: 'never-twice',
    edits: [
      { find: `if (fault.dispatched === 'no') {`, replace: `if (fault.dispatched !== 'yes') {` },
    ],
  },
  {
    id: 'two-probes',
    breaks: 'A half-open circuit admits everybody who asks while its one probe is under way.',
    file: 'src/supervise/breaker-machine.ts',
    foundBy: 'simulation',
    promise: 'breaker',
    edits: [
      {
        find: 'if (busyUntil !== null && at < busyUntil) {',
        replace: `if (state.kind === 'open' && at < busyUntil) {`,
      },
    ],
  },
  {
    id: 'lost-lease',
    breaks: 'Releasing a lease a second time takes the hold of somebody else.',
    file: 'src/supervise/leases.ts',
    foundBy: 'simulation',
    promise: 'leases',
    edits: [{ find: 'if (this.#owners.delete(key))', replace: 'this.#owners.delete(key);' }],
  },
  {
    id: 'stale-generation',
    breaks:
      'A process that is being replaced stays the one to call until it is gone, and answers calls that were made after its end had begun.',
    file: 'src/supervise/life.ts',
    foundBy: 'simulation',
    promise: 'generations',
    edits: [
      {
        find: 'const connection = this.#takeConnection();',
        replace: 'const connection = this.#connection;',
      },
      {
        find: '#closed(generation) {',
        replace: '#closed(generation) {\n        this.#connection = undefined;',
      },
    ],
  },
  {
    id: 'double-answer',
    breaks:
      'A pipe that is full is taken for one that has refused: the answers it has taken are kept and written again.',
    file: 'src/downstream/stdio.ts',
    foundBy: 'chaos',
    promise: 'one-answer',
    rules: ['beyondFirst'],
    edits: [
      {
        find: 'for (const piece of joinedSmall(pieces)) output.write(piece);',
        replace: `const taken = joinedSmall(pieces).map((piece) => output.write(piece));
    if (taken.includes(false)) this.#waiting.unshift(...pieces);`,
      },
    ],
  },
  {
    id: 'uncharged-hit',
    breaks:
      'A call is charged to its budget only where a server is asked, so an answer from the cache is free.',
    file: 'src/host/call.ts',
    foundBy: 'simulation',
    promise: 'budget',
    edits: [
      { find: 'parts.budgets.charge();', replace: '' },
      {
        find: 'const { admission } = server;',
        replace: 'parts.budgets.charge();\n    const { admission } = server;',
      },
    ],
  },
  {
    id: 'unguarded-call',
    breaks:
      'A tool that a caller may not see is left out of the list, but a call asks only about its server.',
    file: 'src/host/call.ts',
    foundBy: 'simulation',
    promise: 'guard',
    edits: [
      {
        find: `request.server, operation.name, 'call', operation.kind);`,
        replace: `request.server, null, 'call');`,
      },
    ],
  },
  {
    id: 'shared-cache',
    breaks: 'The caller is left out of the key of a private result, so it is served to everybody.',
    file: 'src/cache/key.ts',
    foundBy: 'simulation',
    promise: 'cache-keys',
    edits: [{ find: `own: \`\${shared}:\${principalId}\``, replace: 'own: shared' }],
  },
  {
    id: 'coerced-id',
    breaks:
      'The id of an answer is made a number before it is looked up: "1", " 1" and [1] answer request 1.',
    file: 'src/upstream/conversation.ts',
    foundBy: 'simulation',
    promise: 'right-answer',
    edits: [
      {
        find: `typeof id === 'number' ? this.#open.get(id) : undefined`,
        replace: 'this.#open.get(Number(id))',
      },
    ],
  },
  {
    id: 'late-success',
    breaks: 'A call from before the circuit opened closes it by succeeding late.',
    file: 'src/supervise/breaker-machine.ts',
    foundBy: 'simulation',
    promise: 'breaker',
    edits: [
      {
        find: `if (pass !== state.epoch || state.kind === 'open')`,
        replace: `if (state.kind === 'open')`,
      },
    ],
  },
  {
    id: 'leaking-stop',
    breaks: 'A start that is called off while its process is being made forgets that process.',
    file: 'src/upstream/stdio.ts',
    foundBy: 'simulation',
    promise: 'generations',
    rules: ['one-start', 'stop-ladder'],
    edits: [
      {
        find: 'this.#child = child;',
        replace: 'signal.throwIfAborted();\n        this.#child = child;',
      },
    ],
  },
  {
    id: 'no-reaper',
    breaks:
      'The reaper is never started: where no kernel holds the processes together, they outlive a killed gateway.',
    file: 'src/supervise/process/spawn.ts',
    foundBy: 'chaos',
    promise: 'no-orphans',
    edits: [{ find: 'reaper.start(),', replace: '' }],
  },
];
