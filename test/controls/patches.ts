// Bugs that must be found, as data. Each is the smallest change that a tired engineer could
// make, and breaks a promise of docs/promises.md. A proof that does not see its bug proves nothing;
// so every one of them is planted in a copy of the built code (scratch-build.ts), never in the code
// that is shipped, and looked for by the proofs as they are. What no proof has clients for, such as tasks
// of several clients at one server, is looked for by unit tests, in a copy of the source.

/** Which command has to find it. */
export type FinderName = 'simulation' | 'chaos' | 'strangers' | 'tests';

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
  /** The unit tests that look for it, where they do. */
  readonly tests?: readonly string[];
  /** Of what tsc wrote from the file; of the bundle where the whole gateway has to run; of the file itself for tests. */
  readonly edits: readonly Edit[];
}

/** One of these has to speak. */
export function rulesOf({ promise, rules = [promise] }: Patch): readonly string[] {
  return rules;
}

/** Where a check of the roles is missed. */
const roleTests = [
  'src/downstream/roles-table.test.ts',
  'src/downstream/roles.test.ts',
  'src/downstream/method-access.test.ts',
] as const;

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
    file: 'src/downstream/stdio/stdio-front.ts',
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
    file: 'src/host/call/call.ts',
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
    file: 'src/host/call/decision.ts',
    foundBy: 'simulation',
    promise: 'guard',
    edits: [
      {
        find: 'access.authorize(request.principal, accessRequestOf(request));',
        replace:
          'access.authorize(request.principal, { ...accessRequestOf(request), name: null });',
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
    file: 'src/upstream/stdio/stdio-connection.ts',
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
    file: 'src/supervise/process/start/spawn.ts',
    foundBy: 'chaos',
    promise: 'no-orphans',
    edits: [{ find: 'reaper.start(),', replace: '' }],
  },
  {
    id: 'charged-shortage',
    breaks:
      'A start that failed because the machine has no more files or processes is charged to the server.',
    file: 'src/supervise/life.ts',
    foundBy: 'simulation',
    promise: 'restart-budget',
    edits: [{ find: `isShortage = fault.code === 'overloaded'`, replace: 'isShortage = false' }],
  },
  {
    id: 'inherited-method',
    breaks:
      'The method of a notification is looked up in a plain object, which also knows `constructor` and all that objects inherit.',
    file: 'src/host/servers/connection-maker.ts',
    foundBy: 'simulation',
    promise: 'one-bad-neighbour',
    edits: [
      { find: 'changedLists.get(method)', replace: 'Object.fromEntries(changedLists)[method]' },
    ],
  },
  {
    id: 'early-word',
    breaks:
      'A notification that comes before the greeting is over is handled like one of a server that has been met.',
    file: 'src/host/servers/connection-maker.ts',
    foundBy: 'simulation',
    promise: 'one-bad-neighbour',
    edits: [
      {
        find: `this.#listener.noise('unowned-notification');`,
        replace: 'this.#notified(slot, message, about, from);',
      },
    ],
  },
  {
    id: 'noise-ends',
    breaks:
      'A thousand lines that are not MCP end a server at once, whether or not it still answers.',
    file: 'src/upstream/stdio/noise-machine.ts',
    foundBy: 'simulation',
    promise: 'noise',
    edits: [
      { find: 'quietMs: 30_000', replace: 'quietMs: 0' },
      {
        find: `return [{ kind: 'probing', lines: next.lines }, 'probe'];`,
        replace: `return [{ kind: 'probing', lines: next.lines }, 'end'];`,
      },
    ],
  },
  {
    id: 'noise-without-probe',
    breaks:
      'A server that has printed a lot and said nothing for a while is ended without being asked whether it lives.',
    file: 'src/upstream/stdio/noise-machine.ts',
    foundBy: 'simulation',
    promise: 'noise',
    edits: [
      {
        find: `return [{ kind: 'probing', lines: next.lines }, 'probe'];`,
        replace: `return [{ kind: 'probing', lines: next.lines }, 'end'];`,
      },
    ],
  },
  {
    id: 'dropped-rest',
    breaks:
      'What follows a thousand log lines in the same chunk is dropped when reading pauses for other work.',
    file: 'src/upstream/stdio/stdout-reader.ts',
    foundBy: 'simulation',
    promise: 'one-answer',
    edits: [{ find: 'this.#waiting.unshift(chunk.subarray(readBytes));', replace: ';' }],
  },
  {
    id: 'broken-off-verdict',
    breaks:
      'A probe whose response broke off is remembered as if the server had said that it speaks the older era only.',
    file: 'src/upstream/negotiate.ts',
    foundBy: 'simulation',
    promise: 'eras',
    edits: [{ find: 'if (isAnswer(outcome))', replace: '' }],
  },
  {
    id: 'silent-verdict',
    breaks:
      'Silence to the probe is remembered as a verdict also where the server may not have read it before what it answered.',
    file: 'src/upstream/negotiate.ts',
    foundBy: 'simulation',
    promise: 'eras',
    edits: [
      { find: 'if (talk.isOrdered && !probing.isSettled)', replace: 'if (!probing.isSettled)' },
    ],
  },
  {
    id: 'old-catalogue',
    breaks: 'A process is shown with what another one of its name had listed before.',
    file: 'src/host/servers/server.ts',
    foundBy: 'simulation',
    promise: 'generations',
    edits: [{ find: 'if (!slot.catalogue || !slot.supervisor.connection)', replace: 'if (true)' }],
  },
  {
    id: 'taken-name',
    breaks:
      'A server that comes earlier in the config takes the name of another when it changes its list.',
    file: 'src/catalog/naming.ts',
    foundBy: 'chaos',
    promise: 'name-owner',
    rules: ['misrouted'],
    edits: [{ find: 'book.enter(server, items.filter(isOwner));', replace: '' }],
  },
  {
    id: 'taken-place',
    breaks:
      'A call that waits while its connection becomes the own one of another client runs on it, with the roots of that client.',
    file: 'src/host/connections/connection-slots.ts',
    foundBy: 'chaos',
    promise: 'own-roots',
    rules: ['foreignRoots'],
    edits: [
      {
        find: 'if (isSpent || owner !== null && owner !== caller?.client.key) return true;',
        replace: 'if (isSpent) return true;',
      },
    ],
  },
  {
    id: 'shared-audience',
    breaks:
      'A result that a server gave to one client that it knows the roots of is kept for all clients of its class.',
    file: 'src/host/connections/aims.ts',
    foundBy: 'chaos',
    promise: 'own-roots',
    rules: ['foreignRoots'],
    edits: [{ find: 'caller.client.key, era', replace: 'era, era' }],
  },
  {
    id: 'joined-for-all',
    breaks:
      'A call that waits for the answer to the same call of another client takes it, though the server keeps clients apart by then.',
    file: 'src/host/call/call.ts',
    foundBy: 'chaos',
    promise: 'own-roots',
    rules: ['foreignRoots'],
    edits: [{ find: 'isOwn || isForAll(server, call.request, cacheable)', replace: 'true' }],
  },
  {
    id: 'late-roots',
    breaks:
      'Roots that a client tells late reach a connection that another client has come to use since the first was asked.',
    file: 'src/host/connections/connection-slots.ts',
    foundBy: 'chaos',
    promise: 'own-roots',
    rules: ['foreignRoots'],
    edits: [{ find: 'slot.onlyClientOf(connection)?.key !== key', replace: 'false' }],
  },
  {
    id: 'roots-in-a-call',
    breaks:
      'Roots that a server asks for on the stream of a call are told on that connection, whoever else uses it.',
    file: 'src/host/connections/questions.ts',
    foundBy: 'chaos',
    promise: 'own-roots',
    rules: ['foreignRoots'],
    edits: [
      {
        find: 'return this.#rootsQuestions.asked(slot, message, about, likely, from);',
        replace:
          'return about && likely ? this.#open.carry(slot, message, about, likely, from) : this.#rootsQuestions.asked(slot, message, about, likely, from);',
      },
    ],
  },
  {
    id: 'unsaved-record',
    breaks: 'What is put into the store is acknowledged before it is on the disk.',
    file: 'src/store/pending-changes.ts',
    foundBy: 'simulation',
    promise: 'durable',
    rules: ['kept-records'],
    edits: [
      {
        find: 'await this.inTurn(collectionOf(file), () => this.#save(file, change));',
        replace: 'void this.inTurn(collectionOf(file), () => this.#save(file, change));',
      },
    ],
  },
  {
    id: 'expired-hit',
    breaks: 'A cached result is served after its time.',
    file: 'src/cache/cache.ts',
    foundBy: 'simulation',
    promise: 'cache-rules',
    edits: [{ find: 'this.#clock.now() < entry.expiresAt', replace: 'entry.expiresAt > 0' }],
  },
  {
    id: 'queued-ghost',
    breaks:
      'A caller that gives up in the queue is answered, but keeps its turn, and the place it gets then is lost.',
    file: 'src/supervise/admission.ts',
    foundBy: 'simulation',
    promise: 'leases',
    rules: ['leases', 'one-answer', 'liveness'],
    edits: [{ find: 'if (this.#remove(entrant, waiting))', replace: '' }],
  },
  {
    id: 'flat-backoff',
    breaks: 'The delay between starts does not grow with the failures in a row.',
    file: 'src/supervise/restart-machine.ts',
    foundBy: 'simulation',
    promise: 'backoff',
    edits: [{ find: 'state.streak + 1', replace: '1' }],
  },
  {
    id: 'reused-key',
    breaks:
      'An idempotency key that was used with another request gives the answer of that request.',
    file: 'src/policy/keyed-faults.ts',
    foundBy: 'simulation',
    promise: 'right-answer',
    edits: [{ find: 'if (found.fingerprint !== fingerprint) {', replace: 'if (false) {' }],
  },
  {
    id: 'unsent-task',
    breaks:
      'A call that became a task is said to be unsent when only a question about the task was, and is sent again.',
    file: 'src/host/call/attempts.ts',
    foundBy: 'tests',
    tests: ['src/downstream/tasks/modern-tasks.test.ts'],
    promise: 'never-twice',
    edits: [
      {
        find: `throw thrown instanceof Fault ? thrown.with({ dispatched: 'yes' }) : thrown;`,
        replace: 'throw thrown;',
      },
    ],
  },
  {
    id: 'unbound-task',
    breaks: 'A request about a task goes to whichever connection stands in its place now.',
    file: 'src/host/call/attempts.ts',
    foundBy: 'tests',
    tests: ['src/host/ended-connection.test.ts', 'src/downstream/tasks/session-tasks.test.ts'],
    promise: 'tasks',
    edits: [{ find: 'this.#bound() ?? ', replace: '' }],
  },
  {
    id: 'anybodys-task',
    breaks: 'A task is found by its id alone, whoever began it.',
    file: 'src/host/tasks/begun-tasks.ts',
    foundBy: 'tests',
    tests: ['src/downstream/tasks/modern-tasks.test.ts'],
    promise: 'tasks',
    edits: [{ find: ' && isOf(task, asker)', replace: '' }],
  },
  {
    id: 'role-uncharged-hit',
    breaks:
      'A call is charged to the budget of its role only where a server is asked, so an answer from the cache is free.',
    file: 'src/host/call/call.ts',
    foundBy: 'tests',
    tests: ['src/downstream/role-budgets.test.ts'],
    promise: 'budgets-kept',
    edits: [
      { find: 'call.account?.count();', replace: '' },
      {
        find: 'const { admission } = server;',
        replace: 'call.account?.count();\n  const { admission } = server;',
      },
    ],
  },
  {
    id: 'retry-charged-twice',
    breaks:
      'A call with an idempotency key is charged before it is known whether the key was used.',
    file: 'src/host/call/call.ts',
    foundBy: 'tests',
    tests: ['src/downstream/role-budgets.test.ts'],
    promise: 'budgets-kept',
    edits: [{ find: 'while (!isKeyed) {', replace: 'while (true) {' }],
  },
  {
    id: 'role-bytes-of-who-left',
    breaks:
      'The bytes of a result under an idempotency key are counted by its caller, and by nobody if that has gone.',
    file: 'src/host/call/charge.ts',
    foundBy: 'tests',
    tests: ['src/downstream/role-budgets.test.ts'],
    promise: 'budgets-kept',
    edits: [{ find: 'await countBytes(parts, call, result.length);', replace: 'await undefined;' }],
  },
  {
    id: 'role-free-last-round',
    breaks: 'What a further round of a call receives is not counted.',
    file: 'src/host/call/charge.ts',
    foundBy: 'tests',
    tests: ['src/downstream/role-budgets.test.ts'],
    promise: 'budgets-kept',
    edits: [
      {
        find: 'if (role === null || !actions',
        replace: 'if (role === null || request.isContinued || !actions',
      },
    ],
  },
  {
    id: 'spent-forgotten',
    breaks: 'What was spent before a restart is read and not used.',
    file: 'src/policy/role-budgets/account-book.ts',
    foundBy: 'tests',
    tests: ['src/downstream/role-budgets.test.ts', 'src/policy/role-budgets/account.test.ts'],
    promise: 'budgets-kept',
    edits: [{ find: 'stored?.mark === mark ? stored : nothingSpent', replace: 'nothingSpent' }],
  },
  {
    id: 'role-spent-never-read',
    breaks: 'A count that began while the store could not be read is never read again.',
    file: 'src/policy/role-budgets/account-book.ts',
    foundBy: 'tests',
    tests: ['src/policy/role-budgets/account.test.ts'],
    promise: 'budgets-kept',
    edits: [
      { find: 'if (!this.#isLoaded && this.#isDue) this.#load().catch(ignored);', replace: '' },
    ],
  },
  {
    id: 'recorded-behind',
    breaks: 'What is spent is recorded after its use, so a killed process has given it away.',
    file: 'src/policy/role-budgets/account.ts',
    foundBy: 'tests',
    tests: ['src/policy/role-budgets/account.test.ts'],
    promise: 'budgets-kept',
    edits: [
      {
        find: 'if (this.#calls >= this.#reserved.calls) return',
        replace: 'if (this.#calls >= this.#max.calls) return',
      },
    ],
  },
  {
    id: 'budget-of-the-path',
    breaks: 'A path that narrows is a principal of its own for its budget, too.',
    file: 'src/policy/role-budgets/role-budgets.ts',
    foundBy: 'tests',
    tests: ['src/downstream/role-budgets.test.ts'],
    promise: 'budgets-kept',
    edits: [{ find: 'ownerOf(principal).id', replace: 'principal.id' }],
  },
  {
    id: 'shared-view',
    breaks: 'A list that was composed for one principal is shown to all.',
    file: 'src/downstream/view/view.ts',
    foundBy: 'tests',
    tests: ['src/downstream/view/view.test.ts'],
    promise: 'guard',
    edits: [{ find: 'era, scope, ...whose', replace: 'era, ...whose' }],
  },
  {
    id: 'classless-view',
    breaks: 'A list that was composed for clients that can do one thing is shown to all.',
    file: 'src/downstream/view/view.ts',
    foundBy: 'tests',
    tests: ['src/downstream/classes.test.ts'],
    promise: 'classes',
    edits: [{ find: ', classOf(client.capabilities).key];', replace: '];' }],
  },
  {
    id: 'open-greeting',
    breaks: 'The greeting has the instructions of servers that the principal may not use.',
    file: 'src/downstream/greeting.ts',
    foundBy: 'tests',
    tests: ['src/downstream/greeting.test.ts'],
    promise: 'guard',
    edits: [
      {
        find: ".filter(({ name }) => host.access.isAllowed(client.principal, serverRequest('list', name)))",
        replace: '',
      },
    ],
  },
  {
    id: 'forgotten-dispatch',
    breaks:
      'A call that may have run and is turned away at its next place says that it was not sent.',
    file: 'src/host/call/call.ts',
    foundBy: 'tests',
    tests: ['src/downstream/moved-calls.test.ts'],
    promise: 'true-dispatched',
    edits: [
      {
        find: 'throw overAllAttempts(namedFault(fault, call), call);',
        replace: 'throw namedFault(fault, call);',
      },
    ],
  },
  {
    id: 'unsent-later-round',
    breaks:
      'A call whose server has asked for input says that it was not sent if it cannot be sent again with the answer.',
    file: 'src/host/call/call.ts',
    foundBy: 'tests',
    tests: ['src/downstream/relay/later-rounds.test.ts'],
    promise: 'true-dispatched',
    edits: [{ find: 'overAllRounds(parts, request, failed)', replace: 'failed' }],
  },
  {
    id: 'letters-after-a-stall',
    breaks:
      'An orchestrator that has stood still begins letters that lay on its socket, also of workers that were revoked meanwhile.',
    file: 'src/broker/socket/stall-watch.ts',
    foundBy: 'tests',
    tests: ['src/broker/socket/stalled-link.test.ts'],
    promise: 'broker-identity',
    edits: [
      {
        find: 'if (ms < stalledAfterMs) return;',
        replace: 'if (ms < Number.POSITIVE_INFINITY) return;',
      },
    ],
  },
  {
    id: 'joined-error',
    breaks: 'A call that waited for the equal call of another client gets the error of that one.',
    file: 'src/host/call/call.ts',
    foundBy: 'tests',
    tests: ['src/downstream/asked-calls.test.ts'],
    promise: 'own-answers-only',
    edits: [{ find: 'if (isShared() || signal?.aborted) throw thrown;', replace: 'throw thrown;' }],
  },
  {
    id: 'slot-after-end',
    breaks: 'A server that was ended is started again by a call that changes its connection.',
    file: 'src/host/connections/connection-slots.ts',
    foundBy: 'tests',
    tests: ['src/downstream/asked-calls.test.ts'],
    promise: 'generations',
    edits: [{ find: 'this.#ended ??= endedFault();', replace: '' }],
  },
  {
    id: 'stale-policy',
    breaks: 'A list that was composed under one policy is shown under the next.',
    file: 'src/downstream/view/view.ts',
    foundBy: 'tests',
    tests: ['src/downstream/method-access.test.ts'],
    promise: 'guard',
    edits: [{ find: '[kind, access.version, era,', replace: '[kind, era,' }],
  },
  {
    id: 'task-by-its-id',
    breaks: 'A request about a task is decided by its id instead of by the tool that began it.',
    file: 'src/downstream/tasks/task-requests.ts',
    foundBy: 'tests',
    tests: ['src/downstream/method-access.test.ts'],
    promise: 'guard',
    edits: [{ find: `about: { kind: 'tool', name: tool },`, replace: '' }],
  },
  {
    id: 'resumed-hold',
    breaks: 'A pipe that is held back for a slow client is read on after a pause for other work.',
    file: 'src/upstream/stdio/stdout-reader.ts',
    foundBy: 'tests',
    tests: ['src/upstream/stdio/stdout-reader.test.ts'],
    promise: 'slow-client',
    edits: [
      {
        find: 'return this.#isHeld ? undefined : this.#child?.resume();',
        replace: 'return this.#child?.resume();',
      },
    ],
  },
  {
    id: 'no-time-to-probe',
    breaks: 'A modern server that is silent on initialize is not probed before its start is over.',
    file: 'src/upstream/negotiate.ts',
    foundBy: 'tests',
    tests: ['src/upstream/negotiate.test.ts'],
    promise: 'eras',
    edits: [
      {
        find: 'Math.min(isModern ? probeMs : initializeMs, startTimeoutMs / 2)',
        replace: 'isModern ? probeMs : initializeMs',
      },
    ],
  },
  {
    id: 'never-doubted',
    breaks:
      'What is known of the eras of a server is used again after a start that failed with it.',
    file: 'src/host/servers/era-basis.ts',
    foundBy: 'simulation',
    promise: 'eras',
    rules: ['liveness'],
    edits: [{ find: 'isDoubted: !basis.isDoubted,', replace: 'isDoubted: false,' }],
  },
  {
    id: 'said-to-be-kept',
    breaks: 'A durable record that could not be written is reported as kept.',
    file: 'src/store/pending-changes.ts',
    foundBy: 'tests',
    tests: ['src/store/file-store.test.ts'],
    promise: 'durable',
    edits: [{ find: `throw new StoreError('not_kept', detail, error);`, replace: 'return;' }],
  },
  {
    id: 'token-kept-once',
    breaks: 'A token that could not be written is not written later.',
    file: 'src/downstream/http/access/tokens.ts',
    foundBy: 'tests',
    tests: ['src/downstream/http/access/tokens.test.ts'],
    promise: 'durable',
    edits: [{ find: 'keepTrying({ clock, caught, isDone: keepAgain });', replace: '' }],
  },
  {
    id: 'cut-off-at-removal',
    breaks: 'The calls under way on a server that is removed from the config are cut off.',
    file: 'src/supervise/life-machine.ts',
    foundBy: 'tests',
    tests: ['src/host/apply.test.ts', 'src/downstream/live-servers.test.ts'],
    promise: 'live-config',
    edits: [{ find: ` || reason === 'removed';`, replace: ';' }],
  },
  {
    id: 'addresses-of-the-gone',
    breaks: 'Addresses stay with a server that is no longer in the config.',
    file: 'src/downstream/view/resource-view.ts',
    foundBy: 'tests',
    tests: ['src/downstream/live-servers.test.ts'],
    promise: 'live-config',
    edits: [
      { find: 'this.#uris.reorder(servers);', replace: '' },
      { find: 'this.#uris.reorder([...seen.keys()]);', replace: '' },
    ],
  },
  {
    id: 'lists-of-the-gone',
    breaks:
      'How reading its lists went is remembered of a server that is gone, and of its successor.',
    file: 'src/downstream/view/known-lists.ts',
    foundBy: 'tests',
    tests: ['src/downstream/live-servers.test.ts'],
    promise: 'live-config',
    edits: [{ find: ') this.#forget(name);', replace: ') void name;' }],
  },
  {
    id: 'config-without-the-guard',
    breaks: 'A new config is applied without asking the guard.',
    file: 'src/host/apply.ts',
    foundBy: 'tests',
    tests: ['src/host/apply.test.ts'],
    promise: 'guard',
    edits: [{ find: 'this.#authorize(plan);', replace: '' }],
  },
  {
    id: 'two-configs-at-once',
    breaks: 'A second config is applied while the first is still being applied.',
    file: 'src/host/apply.ts',
    foundBy: 'tests',
    tests: ['src/host/apply.test.ts'],
    promise: 'live-config',
    edits: [{ find: 'this.#last.then(() => this.#apply(next))', replace: 'this.#apply(next)' }],
  },
  {
    id: 'lost-unseen',
    breaks: 'A server that is lost right behind its answer to the greeting is taken for connected.',
    file: 'src/upstream/server-connection.ts',
    foundBy: 'tests',
    tests: ['src/upstream/stdio/stdio-connection.test.ts'],
    promise: 'eras',
    edits: [
      { find: `if (this.isLost) throw this.#lostBy ?? this.fault('was stopped');`, replace: '' },
    ],
  },
  {
    id: 'kept-connection',
    breaks: 'A closed connection is kept, with its sockets, as long as the session that used it.',
    file: 'src/host/connections/connection-slot.ts',
    foundBy: 'tests',
    tests: ['src/host/ended-connection.test.ts'],
    promise: 'no-growth',
    edits: [{ find: 'this.subscriptions.ended(connection);', replace: '' }],
  },
  {
    id: 'lost-user',
    breaks: 'A call that waited uses a lost connection, and erases who has used the one after it.',
    file: 'src/host/connections/connection-slot.ts',
    foundBy: 'tests',
    tests: ['src/host/connections/connection-slots.test.ts'],
    promise: 'own-roots',
    rules: ['own-roots', 'classes', 'no-growth', 'eras'],
    edits: [{ find: 'if (connection.isLost) return false;', replace: '' }],
  },
  {
    id: 'roots-before-lists',
    breaks: 'A client tells its roots before the lists for all clients were read: none are kept.',
    file: 'src/host/connections/open-questions.ts',
    foundBy: 'tests',
    tests: ['src/downstream/own-lists.test.ts'],
    promise: 'first-list',
    rules: ['own-roots', 'first-list'],
    edits: [{ find: 'await before;', replace: '' }],
  },
  {
    id: 'lists-of-single-clients',
    breaks: 'A server that lists to single clients only is never read for the next one.',
    file: 'src/downstream/view/known-lists.ts',
    foundBy: 'tests',
    tests: ['src/downstream/own-lists.test.ts'],
    promise: 'first-list',
    edits: [{ find: '(isReached || caller.client.isGone)', replace: 'false' }],
  },
  {
    id: 'started-for-all',
    breaks: 'A server that has failed or was stopped is started again to be read for everybody.',
    file: 'src/downstream/view/known-lists.ts',
    foundBy: 'tests',
    tests: ['src/downstream/own-lists.test.ts'],
    promise: 'first-list',
    edits: [{ find: 'caller && (isReached || caller.client.isGone)', replace: 'caller' }],
  },
  {
    id: 'sweep-at-the-end',
    breaks: 'A store that is closed waits until its sweep has read every record.',
    file: 'src/store/housekeeping.ts',
    foundBy: 'tests',
    tests: ['src/store/file-store.test.ts'],
    promise: 'stop-ladder',
    edits: [{ find: 'this.#isStopped = true;', replace: '' }],
  },
  {
    id: 'stored-own-name',
    breaks: "Names from one client's own list are written to the disk.",
    file: 'src/downstream/view/given-names.ts',
    foundBy: 'tests',
    tests: ['src/downstream/own-lists.test.ts'],
    promise: 'own-roots',
    edits: [{ find: 'isShared(owner) || this.#isStored(exposed, owner)', replace: 'owner' }],
  },
  {
    id: 'roots-of-another-program',
    breaks: 'A program without roots uses those of another program with the same token.',
    file: 'src/host/connections/own-slots.ts',
    foundBy: 'tests',
    tests: ['src/downstream/classes.test.ts'],
    promise: 'own-roots',
    edits: [
      {
        find: ': slot.aim.clients.key === clients.key;',
        replace: ': this.#parts.shared.serves(slot, clients);',
      },
    ],
  },
  {
    id: 'any-roots',
    breaks: 'A modern call goes to a connection that was sent the roots of another program.',
    file: 'src/host/connections/own-slots.ts',
    foundBy: 'tests',
    tests: ['src/downstream/modern-roots.test.ts'],
    promise: 'own-roots',
    rules: ['own-roots', 'roots'],
    edits: [
      { find: `this.#serves(slot, aim) && slot.suits(roots)`, replace: `this.#serves(slot, aim)` },
    ],
  },
  {
    id: 'unasked-call',
    breaks: 'A modern call is sent to a server that keeps roots without being asked for its own.',
    file: 'src/host/servers/server.ts',
    foundBy: 'tests',
    tests: ['src/downstream/modern-roots.test.ts'],
    promise: 'own-roots',
    rules: ['own-roots', 'roots'],
    edits: [
      {
        find: `this.facts.now.keepsRoots === true && caller.roots === undefined`,
        replace: `false`,
      },
    ],
  },
  {
    id: 'cached-by-roots',
    breaks: 'What a server answered for the roots of one modern call is kept for others.',
    file: 'src/host/call/cached-results.ts',
    foundBy: 'tests',
    tests: ['src/downstream/modern-roots.test.ts'],
    promise: 'own-roots',
    rules: ['own-roots', 'roots'],
    edits: [
      { find: `if (caller && server.dependsOnRoots(caller)) return undefined;`, replace: `` },
    ],
  },
  {
    id: 'silent-holder',
    breaks: 'Others wait for a client that does not answer roots/list.',
    file: 'src/host/connections/roots-questions.ts',
    foundBy: 'tests',
    tests: ['src/downstream/modern-roots.test.ts'],
    promise: 'own-roots',
    rules: ['own-roots', 'roots'],
    edits: [{ find: `contain(() => this.#parts.foundAsking(), caught)`, replace: `{}` }],
  },
  {
    id: 'asked-each-time',
    breaks: 'A modern call is asked for its roots as often as its server asks.',
    file: 'src/downstream/clients/call-roots.ts',
    foundBy: 'tests',
    tests: ['src/downstream/modern-roots.test.ts'],
    promise: 'own-roots',
    rules: ['own-roots', 'roots'],
    edits: [{ find: `this.#open.get(caller) ?? `, replace: `` }],
  },
  {
    id: 'deaf-waiter',
    breaks: 'A call that waits for a connection of its client is not told when one is free.',
    file: 'src/host/call/call-slot.ts',
    foundBy: 'tests',
    tests: ['src/downstream/modern-roots.test.ts'],
    promise: 'own-roots',
    edits: [{ find: 'server.slots.changes.tell();', replace: '' }],
  },
  {
    id: 'roots-of-the-former',
    breaks: 'A place keeps the roots of a client that has left, and gives them to the next.',
    file: 'src/host/connections/connection-slot.ts',
    foundBy: 'tests',
    tests: ['src/downstream/asked-calls.test.ts'],
    promise: 'own-roots',
    edits: [{ find: '    this.roots = undefined;\n', replace: '' }],
  },
  {
    id: 'roots-beside-others',
    breaks:
      'A server is sent the roots of one modern call while it works on another of that token.',
    file: 'src/host/connections/roots-questions.ts',
    foundBy: 'tests',
    tests: ['src/downstream/asked-calls.test.ts'],
    promise: 'own-roots',
    edits: [{ find: '|| isOther) return noRoots;', replace: ') return noRoots;' }],
  },
  {
    id: 'answer-of-other-roots',
    breaks: 'A modern call has the answer to the same call of another program with other roots.',
    file: 'src/host/call/cached-results.ts',
    foundBy: 'tests',
    tests: ['src/downstream/asked-calls.test.ts'],
    promise: 'own-roots',
    edits: [{ find: "server.dependsOnRoots(caller) ? 'one call' : ", replace: '' }],
  },
  {
    id: 'reopened-with-roots',
    breaks: 'A connection that is opened again for a program without roots has those of another.',
    file: 'src/host/connections/own-slots.ts',
    foundBy: 'tests',
    tests: ['src/host/connections/connection-slots.test.ts'],
    promise: 'own-roots',
    edits: [{ find: '  slot.roots = undefined;\n', replace: '' }],
  },
  {
    id: 'one-place-for-two',
    breaks: 'Calls that wait for a connection are all given the one that has become free.',
    file: 'src/host/call/call-slot.ts',
    foundBy: 'tests',
    tests: ['src/downstream/waiting-for-connection.test.ts'],
    promise: 'own-roots',
    edits: [
      {
        find: 'slot?.enter(request.caller);',
        replace: 'queueMicrotask(() => slot?.enter(request.caller));',
      },
    ],
  },
  {
    id: 'endless-waiters',
    breaks: 'Any number of calls wait for a connection, whatever the queue of the server is.',
    file: 'src/host/call/call-slot.ts',
    foundBy: 'tests',
    tests: ['src/downstream/waiting-for-connection.test.ts'],
    promise: 'overload',
    edits: [{ find: 'waiting >= config.queue', replace: 'false' }],
  },
  {
    id: 'started-again-and-again',
    breaks: 'A server that asks at its start is restarted without end if two clients wait for it.',
    file: 'src/host/connections/roots-questions.ts',
    foundBy: 'tests',
    tests: ['src/downstream/roots-facts.test.ts'],
    promise: 'own-roots',
    rules: ['own-roots', 'roots'],
    edits: [{ find: '      this.#firstWaiting(slot, from) ??\n', replace: '' }],
  },
  {
    id: 'roots-without-end',
    breaks: 'A server may have any number of requests open at its clients.',
    file: 'src/host/connections/open-questions.ts',
    foundBy: 'tests',
    tests: ['src/downstream/asked-calls.test.ts'],
    promise: 'one-bad-neighbour',
    edits: [{ find: 'if (open.size >= maxOpen) return true;', replace: '' }],
  },
  {
    id: 'still-the-former-roots',
    breaks:
      'A connection whose server was told that there are no roots counts as having the former.',
    file: 'src/host/connections/roots-questions.ts',
    foundBy: 'tests',
    tests: ['src/downstream/told-roots.test.ts'],
    promise: 'own-roots',
    edits: [
      {
        find: 'slot.roots = hasRoots ? known : undefined;',
        replace: 'if (hasRoots) slot.roots = known;',
      },
    ],
  },
  {
    id: 'gone-without-roots',
    breaks: 'A call whose client has left while it was asked is sent as if it had no roots.',
    file: 'src/downstream/clients/call-roots.ts',
    foundBy: 'tests',
    tests: ['src/downstream/asked-calls.test.ts'],
    promise: 'own-roots',
    edits: [{ find: 'if (caller.cancelSignal.aborted) throw leftFault(server);', replace: '' }],
  },
  {
    id: 'nobody-parted',
    breaks: 'A list waits for a client that does not answer, because that client began to read it.',
    file: 'src/downstream/view/known-lists.ts',
    foundBy: 'tests',
    tests: ['src/downstream/asked-calls.test.ts'],
    promise: 'own-roots',
    edits: [{ find: 'reading.isParted = true;', replace: '' }],
  },
  {
    id: 'kept-spent',
    breaks: 'A pinned server keeps the process that was sent the roots of a client that has left.',
    file: 'src/host/connections/connection-slots.ts',
    foundBy: 'tests',
    tests: ['src/downstream/pinned-roots.test.ts'],
    promise: 'own-roots',
    edits: [
      {
        find: `if (slot.isSpent && leases.isPinned) this.#pinned.renew(slot);
    else if (!leases.isWanted)`,
        replace: 'if (!leases.isWanted)',
      },
    ],
  },
  {
    id: 'shared-own-list',
    breaks: "What a server lists on one client's own connection is shown to its whole class.",
    file: 'src/host/connections/connection-slots.ts',
    foundBy: 'tests',
    tests: ['src/downstream/own-lists.test.ts'],
    promise: 'own-roots',
    edits: [
      {
        find: `slot.aim = { ...slot.aim, owner };
    return true;`,
        replace: 'return false;',
      },
    ],
  },
  {
    id: 'kept-own-list',
    breaks: 'What a server lists to one client alone is written to the disk.',
    file: 'src/host/lists/offerings.ts',
    foundBy: 'tests',
    tests: ['src/downstream/own-lists.test.ts'],
    promise: 'own-roots',
    edits: [{ find: 'this.#catalogues.shared.filter(', replace: 'this.#catalogues.all().filter(' }],
  },
  {
    id: 'list-without-capabilities',
    breaks:
      'A modern server is asked for its lists without the capabilities of the clients they are for.',
    file: 'src/host/lists/listings.ts',
    foundBy: 'tests',
    tests: ['src/downstream/modern-classes.test.ts'],
    promise: 'classes',
    edits: [
      {
        find: 'connection.request(method, { members }, { capabilities: this.#capabilities })',
        replace: 'connection.request(method, { members })',
      },
    ],
  },
  {
    id: 'unread-list-decides',
    breaks: 'A call of a class whose list is just being read is sent as one that is in no list.',
    file: 'src/host/lists/listings.ts',
    foundBy: 'tests',
    tests: ['src/downstream/modern-classes.test.ts'],
    promise: 'read-survives',
    edits: [
      {
        find: 'return this.isAskedOn(connection) && loading?.connection !== connection;',
        replace: 'return this.isAskedOn(connection) && loading !== null;',
      },
    ],
  },
  {
    id: 'lost-list-decides',
    breaks: 'A call is given up because the server was lost again while its definition was read.',
    file: 'src/host/call/attempts.ts',
    foundBy: 'tests',
    tests: ['src/downstream/modern-classes.test.ts'],
    promise: 'read-survives',
    edits: [
      {
        find: 'connection.isLost ? (listed ?? this.#call.offered) : listed;',
        replace: 'listed;',
      },
    ],
  },
  {
    id: 'one-class-listened-for',
    breaks: 'A modern server tells only the first class of clients when its lists have changed.',
    file: 'src/host/connections/subscriptions.ts',
    foundBy: 'tests',
    tests: ['src/downstream/modern-classes.test.ts'],
    promise: 'classes',
    edits: [{ find: 'this.#stream(connection, clients, () => []).open();', replace: '' }],
  },
  {
    id: 'one-class-after-a-restart',
    breaks:
      'After a restart of a modern server, clients of other classes that only listen hear of no change.',
    file: 'src/host/servers/connection-maker.ts',
    foundBy: 'tests',
    tests: ['src/downstream/modern-classes.test.ts'],
    promise: 'classes',
    edits: [
      {
        find: 'for (const one of shown) slot.subscriptions.listenFor(connection, one.aim.clients);',
        replace: '',
      },
    ],
  },
  {
    id: 'restart-read-for-one-class',
    breaks: 'The lists of other classes are not read when a modern server has been restarted.',
    file: 'src/host/servers/connection-maker.ts',
    foundBy: 'tests',
    tests: ['src/downstream/modern-classes.test.ts'],
    promise: 'classes',
    edits: [{ find: 'for (const one of shown) this.#readAll(one, connection);', replace: '' }],
  },
  {
    id: 'stream-of-the-wrong-class',
    breaks:
      'A class that has made room for others is listened for still, and one that is used is not.',
    file: 'src/host/lists/catalogues.ts',
    foundBy: 'tests',
    tests: ['src/downstream/modern-classes.test.ts'],
    promise: 'classes',
    edits: [{ find: 'if (gone) this.#gaveUp(gone.aim);', replace: '' }],
  },
  {
    id: 'closed-stream-is-trusted',
    breaks: 'Lists whose stream was closed for room are taken for unchanged.',
    file: 'src/host/connections/subscriptions.ts',
    foundBy: 'tests',
    tests: ['src/host/connections/subscriptions.test.ts'],
    promise: 'classes',
    edits: [{ find: 'this.unheard(oldest.clients);', replace: '' }],
  },
  {
    id: 'reading-for-another-class',
    breaks:
      'A client that asks after a change waits for the list of another class, and is shown its own old one.',
    file: 'src/downstream/view/known-lists.ts',
    foundBy: 'tests',
    tests: ['src/downstream/modern-classes.test.ts'],
    promise: 'classes',
    edits: [
      {
        find: 'isBorrowed ? classOf(caller.capabilities) : readFor(server, caller)',
        replace: 'isBorrowed ? classOf(caller.capabilities) : undefined',
      },
    ],
  },
  {
    id: 'list-in-flight',
    breaks:
      "A list that was requested before its connection became one client's own is shown to all.",
    file: 'src/host/lists/listings.ts',
    foundBy: 'tests',
    tests: ['src/downstream/own-lists.test.ts'],
    promise: 'own-roots',
    edits: [{ find: 'this.#left.add(connection);', replace: '' }],
  },
  {
    id: 'composed-for-all',
    breaks: 'A composed list of one client is given to all clients of its class.',
    file: 'src/downstream/view/view.ts',
    foundBy: 'tests',
    tests: ['src/downstream/own-lists.test.ts'],
    promise: 'own-roots',
    edits: [
      {
        find: 'if (aims.some(({ owner }) => owner !== undefined)) return client.client.key;',
        replace: '',
      },
    ],
  },
  {
    id: 'read-before-change',
    breaks: 'A client that asks after a change gets the list of a reading that began before it.',
    file: 'src/host/lists/listings.ts',
    foundBy: 'tests',
    tests: ['src/downstream/view/late-changes.test.ts'],
    promise: 'list-news',
    edits: [
      {
        find: 'if (shelf.changes === changes || again === 0) return listing;',
        replace: 'return listing;',
      },
    ],
  },
  {
    id: 'unmarked-old-list',
    breaks:
      'A client that was given an old list of a stopped server is not notified of the new one.',
    file: 'src/downstream/view/known-lists.ts',
    foundBy: 'tests',
    tests: ['src/downstream/view/late-changes.test.ts'],
    promise: 'list-news',
    edits: [{ find: 'for (const server of old) {', replace: 'for (const server of asked) {' }],
  },
  {
    id: 'late-listen',
    breaks: 'A modern server is asked to report changes only after its lists were read.',
    file: 'src/host/servers/connection-maker.ts',
    foundBy: 'tests',
    tests: ['src/downstream/view/late-changes.test.ts'],
    promise: 'list-news',
    edits: [{ find: 'slot.subscriptions.connected(connection);', replace: '' }],
  },
  {
    id: 'deaf-after-break',
    breaks: 'A stream of changes that breaks off is never opened again.',
    file: 'src/host/connections/listen-stream.ts',
    foundBy: 'tests',
    tests: ['src/host/connections/subscriptions.test.ts'],
    promise: 'list-news',
    edits: [{ find: 'then(over, broken)', replace: 'then(over)' }],
  },
  {
    id: 'unnoticed-gap',
    breaks: 'Changes while the stream of changes was closed are never noticed.',
    file: 'src/host/connections/listen-stream.ts',
    foundBy: 'tests',
    tests: ['src/downstream/view/late-changes.test.ts'],
    promise: 'list-news',
    edits: [{ find: '      missed();', replace: '' }],
  },
  {
    id: 'unnoticed-http-gap',
    breaks: 'The same for the standalone stream of a legacy HTTP server.',
    file: 'src/upstream/http/standalone-stream.ts',
    foundBy: 'tests',
    tests: ['src/upstream/http/http-legacy.test.ts'],
    promise: 'list-news',
    edits: [
      { find: 'else if (waitedMs > 0 || this.#isContinued) this.#listener.missed();', replace: '' },
    ],
  },
  {
    id: 'sent-to-the-leaving',
    breaks: 'A call that waited is sent to a process that is being replaced.',
    file: 'src/host/call/attempts.ts',
    foundBy: 'tests',
    tests: ['src/downstream/replaced-connection.test.ts'],
    promise: 'true-dispatched',
    edits: [{ find: 'if (this.#isReplaced(connection)) continue;', replace: '' }],
  },
  {
    id: 'spent-listener',
    breaks: "A notification of one client reaches the connection that was another client's own.",
    file: 'src/downstream/clients/client-notifications.ts',
    foundBy: 'tests',
    tests: ['src/downstream/own-connections.test.ts'],
    promise: 'own-roots',
    edits: [
      { find: '!slots.isTaken(slots.current, undefined)', replace: 'slots.current.owner === null' },
    ],
  },
  {
    id: 'immortal-modern-client',
    breaks: 'A modern client that was forgotten can still get a connection, which nobody ends.',
    file: 'src/downstream/clients/modern-clients.ts',
    foundBy: 'tests',
    tests: ['src/downstream/clients/modern-clients.test.ts'],
    promise: 'no-growth',
    edits: [{ find: 'if (client) client.isGone = true;', replace: '' }],
  },
  {
    id: 'former-owner',
    breaks:
      "An update from a connection that was one client's own goes to all who watch the address.",
    file: 'src/host/servers/connection-maker.ts',
    foundBy: 'tests',
    tests: ['src/downstream/live-servers.test.ts', 'src/host/apply.test.ts'],
    promise: 'live-config',
    edits: [{ find: 'slot.ownerOf(from)', replace: 'slot.owner' }],
  },
  {
    id: 'waiting-call-refused',
    breaks: 'Calls that wait for a start are refused when clients get other connections.',
    file: 'src/host/call/attempts.ts',
    foundBy: 'tests',
    tests: ['src/downstream/live-servers.test.ts', 'src/host/apply.test.ts'],
    promise: 'live-config',
    edits: [
      {
        find: 'throw this.#slot.isRetired && !this.interruptedBy ? this.#displaced() : thrown;',
        replace: 'throw thrown;',
      },
    ],
  },
  {
    id: 'unawaited-end',
    breaks: 'A server counts as ended while connections of single clients still end.',
    file: 'src/host/connections/own-slots.ts',
    foundBy: 'tests',
    tests: ['src/downstream/live-servers.test.ts', 'src/host/apply.test.ts'],
    promise: 'live-config',
    edits: [{ find: 'this.#leaving.add(slot);', replace: '' }],
  },
  {
    id: 'answer-of-the-former',
    breaks: 'A call shares the answer of one that began before its server was changed.',
    file: 'src/host/call/call.ts',
    foundBy: 'tests',
    tests: ['src/downstream/live-servers.test.ts', 'src/host/apply.test.ts'],
    promise: 'live-config',
    edits: [{ find: '.join(shared, launch', replace: '.join(cacheable.key.own, launch' }],
  },
  {
    id: 'never-back',
    breaks: 'A server that could not be set up does not come back with the next config.',
    file: 'src/host/apply.ts',
    foundBy: 'tests',
    tests: ['src/downstream/live-servers.test.ts', 'src/host/apply.test.ts'],
    promise: 'live-config',
    edits: [{ find: 'planOf(this.#inUse,', replace: 'planOf(this.#config,' }],
  },
  {
    id: 'queued-at-the-removed',
    breaks: 'Calls that are queued at a removed server wait until its running calls have ended.',
    file: 'src/host/servers/server.ts',
    foundBy: 'tests',
    tests: ['src/downstream/live-servers.test.ts', 'src/host/apply.test.ts'],
    promise: 'live-config',
    edits: [{ find: 'this.admission.refuseAll(refusal);', replace: '' }],
  },
  {
    id: 'connection-after-end',
    breaks: 'A server that has ended opens a connection for those who watch it.',
    file: 'src/host/connections/connection-slots.ts',
    foundBy: 'tests',
    tests: ['src/downstream/live-servers.test.ts', 'src/host/apply.test.ts'],
    promise: 'live-config',
    edits: [
      {
        find: 'mode === this.#isolation.mode || this.#ended',
        replace: 'mode === this.#isolation.mode',
      },
    ],
  },
  {
    id: 'composed-too-early',
    breaks: 'A list that was composed while stored lists were read is given out afterwards.',
    file: 'src/downstream/view/view.ts',
    foundBy: 'tests',
    tests: ['src/downstream/live-servers.test.ts'],
    promise: 'live-config',
    edits: [
      {
        find: `    // A list may have been composed while it was read.
    this.#outdated();`,
        replace: '',
      },
    ],
  },
  {
    id: 'ambiguous-part',
    breaks: 'A part of a server message that can be read in two ways counts as a defect of ours.',
    file: 'src/host/servers/contained-listener.ts',
    foundBy: 'tests',
    tests: ['src/host/servers/contained-listener.test.ts'],
    promise: 'one-bad-neighbour',
    edits: [
      {
        find: '(error instanceof WireError ? invalid() : report(error))',
        replace: 'report(error)',
      },
    ],
  },
  {
    id: 'lock-taken-late',
    breaks: 'Who has looked long ago takes the lock of an instance beside its holder.',
    file: 'src/instance/lock.ts',
    foundBy: 'tests',
    tests: ['src/instance/lock.test.ts'],
    promise: 'one-instance',
    edits: [{ find: 'if ((numbers.at(-1) ?? 0) > number) {', replace: 'if (number < 0) {' }],
  },
  {
    id: 'resent-call',
    breaks: 'connect sends a call again that the lost instance may have run.',
    file: 'src/instance/connect/bridge.ts',
    foundBy: 'tests',
    tests: ['src/instance/connect/bridge.test.ts'],
    promise: 'never-twice',
    edits: [
      {
        find: "return message.method === 'tools/call' && isKeyed && this.#keepsKeys;",
        replace: "return message.method === 'tools/call' && isKeyed;",
      },
    ],
  },
  {
    id: 'late-answer-carried',
    breaks: 'connect carries the answer to a question of a lost instance to the next one.',
    file: 'src/instance/connect/bridge.ts',
    foundBy: 'tests',
    tests: ['src/instance/connect/bridge.test.ts'],
    promise: 'right-answer',
    edits: [
      {
        find: 'if (messages.length > 0 && messages.every((one) => this.#isLate(one))) return;',
        replace: '',
      },
    ],
  },
  {
    id: 'missing-keys-unnoticed',
    breaks: 'A new idempotency key is taken although stored keys may be missing.',
    file: 'src/policy/keyed-records.ts',
    foundBy: 'tests',
    tests: ['src/policy/keyed-records.test.ts'],
    promise: 'idempotency-key',
    edits: [{ find: 'await this.#assertWhole();', replace: '' }],
  },
  {
    id: 'refused-key-counts',
    breaks: 'A key that the store has refused uses up room for keys.',
    file: 'src/policy/keyed-records.ts',
    foundBy: 'tests',
    tests: ['src/policy/keyed-records.test.ts'],
    promise: 'idempotency-key',
    edits: [
      { find: 'if (isNew) index.forget(slot);\n      throw error;', replace: 'throw error;' },
    ],
  },
  {
    id: 'sealed-moved',
    breaks: 'An encrypted record can be moved to another key and still be opened.',
    file: 'src/store/sealed-records.ts',
    foundBy: 'tests',
    tests: ['src/store/sealed-records.test.ts'],
    promise: 'kept-or-refused',
    edits: [
      { find: '  cipher.setAAD(Buffer.from(about));\n  const size', replace: '  const size' },
      { find: 'decipher.setAAD(Buffer.from(about));\n', replace: '' },
    ],
  },
  {
    id: 'session-of-anybody',
    breaks: 'A stored session is given to whoever knows its id.',
    file: 'src/downstream/http/legacy/kept-sessions.ts',
    foundBy: 'tests',
    tests: ['src/downstream/http/legacy/kept-sessions.test.ts'],
    promise: 'kept-sessions',
    edits: [{ find: 'if (owner.id !== principal.id) return undefined;', replace: '' }],
  },
  {
    id: 'session-outlives-role',
    breaks: "A stored session outlives a change of its holder's role.",
    file: 'src/downstream/http/legacy/kept-sessions.ts',
    foundBy: 'tests',
    tests: ['src/downstream/http/legacy/kept-sessions.test.ts'],
    promise: 'kept-sessions',
    edits: [{ find: 'if (owner.role === principal.role) {', replace: "if (owner.id !== '') {" }],
  },
  {
    id: 'busy-server-called-early',
    breaks: 'A server that is busy after its start is called before it could ask for roots.',
    file: 'src/host/connections/roots-at-start.ts',
    foundBy: 'tests',
    tests: ['src/downstream/roots-facts.test.ts'],
    promise: 'roots',
    edits: [{ find: 'turn.within(readMs, turn.end);', replace: 'turn.within(500, turn.end);' }],
  },
  {
    id: 'flood-of-short-lines',
    breaks: 'Every line of a flood on stderr is looked at, and the gateway stands still.',
    file: 'src/upstream/stdio/stderr-ring.ts',
    foundBy: 'tests',
    tests: ['src/upstream/stdio/stderr-ring.test.ts'],
    promise: 'one-bad-neighbour',
    edits: [{ find: 'startOfLast(recent, maxLines)', replace: '0' }],
  },
  {
    id: 'secret-at-a-cut',
    breaks: 'A line that was cut in the middle of a secret shows its beginning.',
    file: 'src/upstream/stdio/stderr-ring.ts',
    foundBy: 'tests',
    tests: ['src/upstream/stdio/stderr-ring.test.ts'],
    promise: 'stderr-guarded',
    edits: [{ find: ' || this.#unfinished.length >= maxLineBytes', replace: '' }],
  },
  {
    id: 'lists-of-another-folder',
    breaks: 'A client is shown what a server lists in the folder of another.',
    file: 'src/host/connections/aims.ts',
    foundBy: 'tests',
    tests: ['src/host/connections/connection-slots.test.ts'],
    promise: 'own-answers-only',
    edits: [{ find: '...(folder === undefined ? {} : { folder }),', replace: '' }],
  },
  {
    id: 'claim-unwritten',
    breaks:
      'A call under a new key is sent before the database has the key: after a kill the next process runs it again.',
    file: 'src/policy/keyed-records.ts',
    foundBy: 'simulation',
    promise: 'idempotency-key',
    rules: ['never-twice'],
    edits: [
      {
        find: `const put = await keys.putIfAbsent(slot, this.#stored(record, 'begun', ttlMs), { ttlMs });`,
        replace: `const there = await keys.get(slot);
            const writing = keys.putIfAbsent(slot, this.#stored(record, 'begun', ttlMs), { ttlMs });
            if (there === undefined) return void writing.catch(() => {});
            const put = await writing;`,
      },
    ],
  },
  {
    id: 'begun-runs-again',
    breaks:
      'A key that an earlier process has claimed and not answered counts as unused, and its call is sent again.',
    file: 'src/policy/keyed-records.ts',
    foundBy: 'simulation',
    promise: 'idempotency-key',
    rules: ['never-twice'],
    edits: [
      {
        find: 'return put.isPut ?',
        replace: `return put.isPut || put.entry?.value.state === 'begun' ?`,
      },
    ],
  },
  {
    id: 'answer-unwritten',
    breaks: 'The answer of a call under a key is given before it is kept, and a kill loses it.',
    file: 'src/policy/idempotency.ts',
    foundBy: 'simulation',
    promise: 'idempotency-key',
    edits: [
      {
        find: `await this.#keep(claim, { kind: 'result', bytes });`,
        replace: `void this.#keep(claim, { kind: 'result', bytes });`,
      },
    ],
  },
  {
    id: 'restarts-untouched',
    breaks:
      'Two values of a config that are objects count as different: a change of one server restarts all.',
    file: 'src/config/plan.ts',
    foundBy: 'simulation',
    promise: 'live-config',
    edits: [
      {
        find: 'return keys.every((key) =>',
        replace: 'return keys.length < 0 && keys.every((key) =>',
      },
    ],
  },
  {
    id: 'undrained-change',
    breaks: 'The calls of a server that a config replaces or takes out are broken off at once.',
    file: 'src/supervise/life-machine.ts',
    foundBy: 'simulation',
    promise: 'live-config',
    edits: [
      {
        find: `reason === 'idle' || reason === 'reload' || reason === 'removed'`,
        replace: `reason === 'idle'`,
      },
    ],
  },
  {
    id: 'removed-early',
    breaks: 'A config is said to be applied while servers that it has not are still ending.',
    file: 'src/host/servers/registry.ts',
    foundBy: 'simulation',
    promise: 'live-config',
    edits: [
      {
        find: 'const ended = server.remove().catch(caught);',
        replace: 'const ended = Promise.resolve(void server.remove().catch(caught));',
      },
    ],
  },
  {
    id: 'forgotten-setting',
    breaks: 'Of another config the servers are applied, and the settings that could be are not.',
    file: 'src/host/apply.ts',
    foundBy: 'simulation',
    promise: 'live-config',
    edits: [
      {
        find: 'return { ...next, ...Object.fromEntries(kept) };',
        replace:
          'return { ...next, ...old, mcpServers: next.mcpServers, ...Object.fromEntries(kept) };',
      },
    ],
  },
  {
    id: 'kept-stream',
    breaks:
      'The stream that a remote server sends its news on stays open when a config takes it out.',
    file: 'src/upstream/http/standalone-stream.ts',
    foundBy: 'simulation',
    promise: 'live-config',
    edits: [
      {
        find: `this.#current?.abort();
        this.#beside?.abort();`,
        replace: 'this.#beside?.abort();',
      },
    ],
  },
  {
    id: 'key-kept-too-late',
    breaks:
      'An idempotency key is stored only together with its answer: a call whose instance is killed meanwhile runs again.',
    file: 'src/policy/idempotency.ts',
    foundBy: 'chaos',
    promise: 'idempotency-key',
    rules: ['duplicated', 'key'],
    edits: [
      {
        find: 'if (found !== void 0) return replayed(found, key, fingerprint);',
        replace: `if (found !== void 0) return replayed(found, key, fingerprint);
    await this.#store.free(slot);`,
      },
    ],
  },
  {
    id: 'replayed-by-connect',
    breaks: 'connect sends every call again that the instance had when it ended.',
    file: 'src/instance/connect/bridge.ts',
    foundBy: 'chaos',
    promise: 'never-twice',
    rules: ['duplicated'],
    edits: [
      {
        find: 'return message.method === "tools/call" && isKeyed && this.#keepsKeys;',
        replace: 'return message.method === "tools/call";',
      },
    ],
  },
  {
    id: 'edit-restarts-all',
    breaks:
      'Two equal lists in a config count as different: each edit restarts servers it does not concern.',
    file: 'src/config/plan.ts',
    foundBy: 'tests',
    tests: ['src/config/plan.test.ts'],
    promise: 'live-config',
    edits: [
      {
        find: 'Array.isArray(one) !== Array.isArray(other)',
        replace: 'Array.isArray(one)',
      },
    ],
  },
  {
    id: 'unknown-last-commit',
    breaks: 'A database that has lost the end of its log does not know that anything is missing.',
    file: 'src/store/sqlite/engine.ts',
    foundBy: 'tests',
    tests: ['test/integration/sqlite-acknowledged.test.ts'],
    promise: 'durable',
    edits: [{ find: 'this.#acknowledged.write(commit);', replace: '' }],
  },
  {
    id: 'refused-is-lost',
    breaks:
      'What a failing disk has refused is taken for a loss when the database is opened again.',
    file: 'src/store/sqlite/wal-check.ts',
    foundBy: 'tests',
    tests: ['test/integration/sqlite-acknowledged.test.ts'],
    promise: 'durable',
    edits: [
      {
        find: 'next !== undefined && highest !== undefined && highest > next',
        replace: 'true',
      },
    ],
  },
  {
    id: 'refused-without-number-is-lost',
    breaks:
      'What is left of a refused change without its number is taken for the loss of an acknowledged one.',
    file: 'src/store/sqlite/wal-check.ts',
    foundBy: 'tests',
    tests: ['test/integration/sqlite-acknowledged.test.ts'],
    promise: 'durable',
    edits: [
      {
        find: 'next !== undefined && highest !== undefined && highest > next',
        replace: 'next === undefined || highest === undefined || highest > next',
      },
    ],
  },
  {
    id: 'unwritten-is-damaged',
    breaks: 'A database file that was being made when the power was cut is reported as damaged.',
    file: 'src/store/sqlite/open-database.ts',
    foundBy: 'tests',
    tests: ['test/integration/sqlite-acknowledged.test.ts'],
    promise: 'durable',
    edits: [{ find: 'if (acknowledgedIn(file) > 0) return setAside', replace: 'return setAside' }],
  },
  {
    id: 'zeroed-is-new',
    breaks:
      'A database whose file holds zeros only is begun anew without a word about what is lost.',
    file: 'src/store/sqlite/open-database.ts',
    foundBy: 'tests',
    tests: ['test/integration/sqlite-acknowledged.test.ts'],
    promise: 'durable',
    edits: [
      {
        find: 'if (acknowledgedIn(file) > 0) return setAside(file);',
        replace: 'forgetAcknowledged(file);',
      },
    ],
  },
  {
    id: 'nothing-written-is-well',
    breaks: 'A change that finds nothing to write shows that a failing disk works again.',
    file: 'src/store/sqlite/sqlite-store.ts',
    foundBy: 'tests',
    tests: ['test/integration/sqlite-acknowledged.test.ts'],
    promise: 'disk-faults',
    edits: [{ find: 'if (outcome.isStored) this.#works();', replace: 'this.#works();' }],
  },
  {
    id: 'log-without-its-file',
    breaks: 'A log whose database is missing is removed without a word.',
    file: 'src/store/sqlite/open-database.ts',
    foundBy: 'tests',
    tests: ['test/integration/sqlite-acknowledged.test.ts'],
    promise: 'durable',
    edits: [{ find: 'if (log.length > 0) setLogAside(file);', replace: '' }],
  },
  {
    id: 'number-of-an-unfinished-change',
    breaks:
      'The number of a change whose frames are not all good counts as the last good one: the loss of two acknowledged changes is taken for a power cut.',
    file: 'src/store/sqlite/wal-check.ts',
    foundBy: 'tests',
    tests: ['test/integration/sqlite-acknowledged.test.ts'],
    promise: 'durable',
    edits: [{ find: 'if (frame.isCommit) last = seen;', replace: 'last = seen;' }],
  },
  {
    id: 'loss-hidden-by-commits',
    breaks:
      'A database whose loss cannot be noted is used all the same, and the next commit hides the loss.',
    file: 'src/store/sqlite/open-database.ts',
    foundBy: 'tests',
    tests: ['test/integration/sqlite-acknowledged.test.ts'],
    promise: 'durable',
    edits: [
      { find: `engine.close();\n      const why =`, replace: 'const why =' },
      {
        find: `throw new OpenError('unusable', why, errnoOf(error) ?? null);`,
        replace: 'return why === undefined ? null : lossNoteOf(file);',
      },
    ],
  },
  {
    id: 'serve-overtaken',
    breaks:
      'A window starts an instance of its own as soon as a serve has ended, so that the one that replaces it cannot listen.',
    file: 'src/instance/connect/join-or-start.ts',
    foundBy: 'tests',
    tests: ['src/instance/connect/join-or-start.test.ts'],
    promise: 'one-instance',
    edits: [
      {
        find: `return startedBy === 'serve' && isRecent(endedAt, serveGraceMs);`,
        replace: 'return startedBy === undefined && isRecent(endedAt, serveGraceMs);',
      },
    ],
  },
  {
    id: 'told-to-end-means-broken',
    breaks:
      'A window gives up, and refuses its calls, if the instance that it starts is told to end before it listens.',
    file: 'src/instance/connect/start-policy.ts',
    foundBy: 'tests',
    tests: ['src/instance/connect/start-policy.test.ts'],
    promise: 'one-instance',
    edits: [
      {
        find: `  0,
  faultTable.unavailable.exit,
  ...sentByOthers.map((name) => 128 + constants.signals[name]),`,
        replace: '  faultTable.unavailable.exit,',
      },
      { find: `import { constants } from 'node:os';\n`, replace: '' },
    ],
  },
  {
    id: 'starts-without-pause',
    breaks: 'A window starts instances that end at once as fast as it can.',
    file: 'src/instance/connect/start-policy.ts',
    foundBy: 'tests',
    tests: [
      'src/instance/connect/start-policy.test.ts',
      'src/instance/connect/join-or-start.test.ts',
    ],
    promise: 'one-instance',
    edits: [{ find: 'nextAt: at + pauseMs,', replace: 'nextAt: at + 0 * pauseMs,' }],
  },
  {
    id: 'kept-frames',
    breaks: 'The last fault of a server holds the connection that has ended, with its buffers.',
    file: 'src/kernel/kept-error.ts',
    foundBy: 'tests',
    tests: ['src/kernel/kept-error.test.ts'],
    promise: 'no-growth',
    edits: [{ find: 'void one.stack;', replace: '' }],
  },
  {
    id: 'kept-pools',
    breaks: 'Each line that a server prints holds a buffer and a closure until it is forgotten.',
    file: 'src/upstream/stdio/stderr-ring.ts',
    foundBy: 'tests',
    tests: ['src/upstream/stdio/stderr-ring.test.ts'],
    promise: 'no-growth',
    edits: [
      {
        find: 'return new RawLine(bytes, redactor);',
        replace:
          'const kept = Buffer.from(bytes); const line = new RawLine(kept, redactor); return { length: kept.length, text: () => (kept.length > 0 ? line.text() : "") };',
      },
    ],
  },
  {
    id: 'descriptors-inherited',
    breaks: 'Files that the starting shell has open with a high number reach every server.',
    file: 'src/supervise/process/start/inherited-descriptors.ts',
    foundBy: 'tests',
    tests: ['src/supervise/process/start/inherited-descriptors.test.ts'],
    promise: 'least-environment',
    edits: [
      {
        find: 'descriptor <= lastStandard || named.has(descriptor)',
        replace: 'descriptor <= lastStandard || descriptor > 100 || named.has(descriptor)',
      },
    ],
  },
  {
    id: 'database-of-others',
    breaks: 'A database that other users can change is used as if it were ours.',
    file: 'src/kernel/own-file.ts',
    foundBy: 'tests',
    tests: ['test/integration/sqlite-own-files.test.ts'],
    promise: 'own-state',
    edits: [{ find: '(found.mode & forbidden) === 0', replace: '(found.mode & 0o400) !== 0' }],
  },
  {
    id: 'loss-noted-through-a-link',
    breaks: 'The note that changes are lost overwrites the file that a link in its place leads to.',
    file: 'src/store/sqlite/acknowledged.ts',
    foundBy: 'tests',
    tests: ['test/integration/sqlite-own-files.test.ts'],
    promise: 'own-state',
    edits: [{ find: `openSync(note, 'wx', 0o600)`, replace: `openSync(note, 'w', 0o600)` }],
  },
  {
    id: 'approved-by-another-reading',
    breaks: 'A changed config is loaded, and then the file is read once more for the hash.',
    file: 'src/cli/trust-records.ts',
    foundBy: 'tests',
    tests: ['src/cli/trust-records.test.ts'],
    promise: 'one-instance',
    edits: [
      {
        find: `import { remark,`,
        replace: `import { seenConfig } from '../instance/connect/seen-config.ts';\nimport { remark,`,
      },
      {
        find: 'if (approved === undefined) return;',
        replace: 'if (approved === undefined) return;\n  seen = seenConfig(seen.path);',
      },
    ],
  },
  {
    id: 'log-goes-on-after-a-loss',
    breaks:
      'The log goes on after a loss was noted: a power cut in the next change looks like damage once more.',
    file: 'src/store/sqlite/open-database.ts',
    foundBy: 'tests',
    tests: ['test/integration/sqlite-acknowledged.test.ts'],
    promise: 'durable',
    edits: [
      { find: `if (state === 'damaged' || isLost) engine`, replace: 'if (state === null) engine' },
    ],
  },
  {
    id: 'role-list-entries',
    breaks: 'A list has the entries that a role may not use.',
    file: 'src/downstream/view/view.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    edits: [
      {
        find: `if (access.scopeOf(principal) === '') return definitions;`,
        replace: 'if (access.hasPolicy) return definitions;',
      },
    ],
  },
  {
    id: 'role-list-servers',
    breaks: 'Lists, searches and what is not known yet have the servers that a role may not see.',
    file: 'src/downstream/view/view.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    edits: [
      {
        find: 'return this.#host.servers().filter(({ name }) => access.isAllowed(principal, request(name)));',
        replace: 'void access; void request; return this.#host.servers();',
      },
    ],
  },
  {
    id: 'role-names',
    breaks: 'A tool or prompt that a role may not use is found by its name.',
    file: 'src/downstream/view/name-table.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    rules: ['roles-deny', 'guard'],
    edits: [
      {
        find: 'return host.access.isAllowed(principal, { action, server, kind, name, method });',
        replace: 'void [host, principal, action, server, kind, name, method]; return true;',
      },
    ],
  },
  {
    id: 'role-addresses',
    breaks: 'A resource that a role may not read is found by its address.',
    file: 'src/downstream/view/resource-view.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    edits: [
      {
        find: 'return this.#host.access.isAllowed(principal, request) ? owner : undefined;',
        replace: 'void [principal, request]; return owner;',
      },
    ],
  },
  {
    id: 'role-ambiguous-addresses',
    breaks: 'A role decides by its patterns about addresses that a server reads in another way.',
    file: 'src/policy/roles/role.ts',
    foundBy: 'tests',
    tests: ['src/policy/roles/address-readings.test.ts', ...roleTests],
    promise: 'roles-deny',
    edits: [{ find: 'if (isAmbiguousAddress(address)) return severalReadings;', replace: '' }],
  },
  {
    id: 'role-one-reading',
    breaks: 'A role allows an address of which another reading is not allowed.',
    file: 'src/policy/roles/role.ts',
    foundBy: 'tests',
    tests: ['src/policy/roles/address-readings.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: 'const isAllowed = readings.texts.every((reading, at) =>',
        replace: 'const isAllowed = readings.texts.some((reading, at) =>',
      },
    ],
  },
  {
    id: 'role-second-member',
    breaks: 'A reference is authorised as a prompt and carries the address of a resource.',
    file: 'src/downstream/completion.ts',
    foundBy: 'tests',
    tests: ['src/downstream/decided-members.test.ts', ...roleTests],
    promise: 'roles-deny',
    edits: [
      {
        find: "if (type === 'ref/prompt' && uri === undefined)",
        replace: "if (type === 'ref/prompt')",
      },
    ],
  },
  {
    id: 'role-shown-names',
    breaks: 'A pattern that names a tool as clients see it, with its hash, matches nothing.',
    file: 'src/policy/roles/pattern.ts',
    foundBy: 'tests',
    tests: ['src/downstream/named-patterns.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: "return kind !== 'resource' && this.#matchesExposed(server, name);",
        replace: 'return false;',
      },
    ],
  },
  {
    id: 'role-aliases',
    breaks: 'A pattern that names a tool as the config renames it matches nothing.',
    file: 'src/policy/roles/pattern.ts',
    foundBy: 'tests',
    tests: ['src/downstream/named-patterns.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: "const as = kind === 'tool' ? this.#aliases.of(server, name) : undefined;",
        replace: 'const as = undefined as string | undefined;',
      },
    ],
  },
  {
    id: 'role-hidden-names',
    breaks: 'A hidden server takes names and addresses from visible ones.',
    file: 'src/downstream/view/sight.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'hidden-has-no-influence',
    edits: [
      {
        find: 'return keysOf(server, kind)?.filter(isSeen);',
        replace: 'return isSeen && keysOf(server, kind);',
      },
    ],
  },
  {
    id: 'role-hidden-servers',
    breaks: 'A hidden server counts where addresses are shared out.',
    file: 'src/downstream/view/sight.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    rules: ['roles-deny', 'hidden-has-no-influence'],
    edits: [
      {
        find: 'host.servers().filter((server) => isServerSeen(host, principal, server)),',
        replace:
          'host.servers().filter((server) => isServerSeen(host, principal, server) || true),',
      },
    ],
  },
  {
    id: 'role-one-scope',
    breaks: 'Everybody has the names of those who may see everything.',
    file: 'src/policy/access.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    rules: ['roles-deny', 'hidden-has-no-influence'],
    edits: [
      {
        find: `return path === '' ? scope : JSON.stringify([scope, cut?.kind, cut?.name]);`,
        replace: 'void scope; return path;',
      },
    ],
  },
  {
    id: 'role-old-policy',
    breaks: 'A changed role has the lists of the policy before.',
    file: 'src/policy/access.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'policy-at-once',
    edits: [
      {
        find: `this.#roles = roles;
    this.#version += 1;`,
        replace: 'this.#roles = roles;',
      },
    ],
  },
  {
    id: 'role-untold',
    breaks: 'Open sessions are not told that they see other lists now.',
    file: 'src/host/apply.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'policy-at-once',
    edits: [{ find: 'this.#parts.news.policyChanged();', replace: '' }],
  },
  {
    id: 'role-greeting',
    breaks: 'The greeting has the instructions of servers that a role may not see.',
    file: 'src/downstream/greeting.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    edits: [
      {
        find: ".filter(({ name }) => host.access.isAllowed(client.principal, serverRequest('list', name)))",
        replace: '',
      },
    ],
  },
  {
    id: 'role-instructions',
    breaks: 'The instructions of a server are told to who may not use all of its tools.',
    file: 'src/downstream/greeting.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    edits: [
      {
        find: 'return tools?.every(sees) === true;',
        replace: 'void sees; return tools !== undefined;',
      },
    ],
  },
  {
    id: 'role-watched-late',
    breaks: 'A resource is watched for who may not see it any more when its server has answered.',
    file: 'src/downstream/subscriptions/watching.ts',
    foundBy: 'tests',
    tests: ['src/downstream/taken-away.test.ts'],
    promise: 'policy-at-once',
    edits: [
      {
        find: 'if (mayWatch(gateway, incoming.principal, watched)) return watched;',
        replace: 'if (watched) return watched;',
      },
    ],
  },
  {
    id: 'role-granted-late',
    breaks: 'A resource is granted though it was hidden while another one was waited for.',
    file: 'src/downstream/subscriptions/watching.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-while-waiting.test.ts'],
    promise: 'policy-at-once',
    edits: [
      {
        find: 'const isSeen = ({ watched }: ListenedResource) => mayWatch(gateway, incoming.principal, watched);',
        replace: 'const isSeen = ({ watched }: ListenedResource) => watched !== undefined;',
      },
    ],
  },
  {
    id: 'role-starts',
    breaks: 'A name that nobody knows starts servers that its caller may not use.',
    file: 'src/downstream/view/known-lists.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    rules: ['roles-deny', 'guard'],
    edits: [{ find: 'if (!access.isAllowed(caller.principal, started)) return [];', replace: '' }],
  },
  {
    id: 'role-unread-servers',
    breaks: 'The error for an unknown name says which hidden server could not be asked.',
    file: 'src/downstream/view/name-table.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    edits: [
      {
        find: ".filter(({ name }) => host.access.isAllowed(principal, kindRequest('list', name, kind)))",
        replace: '',
      },
    ],
  },
  {
    id: 'role-list-changed',
    breaks: 'Clients hear that a list has changed of which they see what they saw before.',
    file: 'src/downstream/client-news.ts',
    foundBy: 'tests',
    tests: ['src/downstream/own-view-changed.test.ts'],
    promise: 'own-view',
    rules: ['own-view', 'guard'],
    edits: [
      {
        find: 'return now !== before;',
        replace: "return now !== '' || now !== before;",
      },
    ],
  },
  {
    id: 'role-updates',
    breaks: 'Clients hear of changes of a resource that they may not watch any more.',
    file: 'src/downstream/client-news.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    rules: ['roles-deny', 'guard', 'policy-at-once'],
    edits: [
      { find: 'host.access.isAllowed(principal, request);', replace: 'request.server === server;' },
    ],
  },
  {
    id: 'role-own-tools',
    breaks: 'The tools of the gateway itself can be called by everybody.',
    file: 'src/downstream/view/own-tools.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    rules: ['roles-deny', 'guard'],
    edits: [
      {
        find: `return host.access.isAllowed(principal, { ...request, method: 'tools/call' });`,
        replace: 'void [host, principal, request]; return true;',
      },
    ],
  },
  {
    id: 'role-health',
    breaks: 'The health and the telemetry of servers are told to who may not see them.',
    file: 'src/downstream/view/host-tool-sources.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    edits: [
      {
        find: 'server === ownServer || host.access.isAllowed(principal, stateOf(server, tool));',
        replace: 'stateOf(server, tool).server === server;',
      },
    ],
  },
  {
    id: 'role-restarts',
    breaks: 'The telemetry counts the restarts of servers that its reader may not see.',
    file: 'src/downstream/view/host-tool-sources.ts',
    foundBy: 'tests',
    tests: ['src/downstream/told-counts.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: 'const known = host.servers().filter(({ name }) => mayKnow(name, null));',
        replace: 'const known = host.servers().filter(() => mayKnow);',
      },
    ],
  },
  {
    id: 'role-under-way',
    breaks: 'The telemetry counts calls under way at servers that its reader may not see.',
    file: 'src/downstream/view/host-tool-sources.ts',
    foundBy: 'tests',
    tests: ['src/downstream/told-counts.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: 'const seen = host.servers().filter(({ name }) => mayKnow(name, null));',
        replace: 'const seen = host.servers();',
      },
    ],
  },
  {
    id: 'role-calls-of-before',
    breaks: 'A tool that was taken away is named in the telemetry of who has called it.',
    file: 'src/observe/traffic.ts',
    foundBy: 'tests',
    tests: ['src/downstream/told-counts.test.ts'],
    promise: 'policy-at-once',
    edits: [
      {
        find: 'if (!named || mayKnow(named.server, named.tool)) rows.push(row);',
        replace: 'if (!named || mayKnow) rows.push(row);',
      },
    ],
  },
  {
    id: 'role-fault-of-before',
    breaks: 'A fault names a tool that was taken away from who has called it.',
    file: 'src/host-tools/host-tools.ts',
    foundBy: 'tests',
    tests: ['src/downstream/told-counts.test.ts'],
    promise: 'policy-at-once',
    edits: [
      {
        find: "return server === '' || mayKnow(server, tool ?? null) ? disclosed(lastFault) : null;",
        replace: 'void [server, tool, mayKnow]; return disclosed(lastFault);',
      },
    ],
  },
  {
    id: 'role-task-list',
    breaks: 'The list of tasks has those of a tool that their owner may not use any more.',
    file: 'src/downstream/tasks/task-requests.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'guard',
    edits: [
      {
        find: 'return gateway.host.access.isAllowed(incoming.principal, request);',
        replace: 'return [request].length > 0;',
      },
    ],
  },
  {
    id: 'role-task-watch',
    breaks: 'A server is started to follow a task for who may not use its tool any more.',
    file: 'src/downstream/tasks/task-watch.ts',
    foundBy: 'tests',
    tests: ['src/downstream/taken-away.test.ts'],
    promise: 'roles-deny',
    edits: [
      { find: 'host.access.authorize(incoming.principal, followRequest(owner));', replace: '' },
    ],
  },
  {
    id: 'role-task-watch-late',
    breaks: 'A task is followed at its server though its tool was taken away while that started.',
    file: 'src/downstream/tasks/task-watch.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-while-waiting.test.ts'],
    promise: 'policy-at-once',
    edits: [
      {
        find: 'wished.filter((task) => host.access.isAllowed(principal, followRequest(task)))',
        replace: 'wished.filter((task) => task !== undefined && principal)',
      },
    ],
  },
  {
    id: 'role-task-granted-late',
    breaks: 'A task is granted though its tool was taken away while a resource was waited for.',
    file: 'src/downstream/tasks/task-watch.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-while-waiting.test.ts'],
    promise: 'policy-at-once',
    edits: [
      {
        find: 'const isSeen = (task: WatchedTask) => host.access.isAllowed(principal, followRequest(task));',
        replace: 'const isSeen = (task: WatchedTask) => host && principal && task !== undefined;',
      },
    ],
  },
  {
    id: 'role-task-stays-watched',
    breaks: 'A task stays followed at its server for who may not use its tool any more.',
    file: 'src/downstream/tasks/task-watch.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'policy-at-once',
    edits: [
      {
        find: 'return granted.some((task) => host.access.isAllowed(principal, followRequest(task)));',
        replace: 'return granted.some((task) => host && principal && task !== undefined);',
      },
    ],
  },
  {
    id: 'role-task-news',
    breaks: 'What a task says reaches who may not use its tool any more.',
    file: 'src/downstream/tasks/task-news.ts',
    foundBy: 'tests',
    tests: ['src/downstream/tasks/session-tasks.test.ts'],
    promise: 'policy-at-once',
    edits: [
      {
        find: 'gateway.host.access.isAllowed(principal, request);',
        replace: '[gateway, principal, request].length > 0;',
      },
    ],
  },
  {
    id: 'role-any-task',
    breaks: 'A task is decided by any tool of its server once its connection has ended.',
    file: 'src/downstream/tasks/task-requests.ts',
    foundBy: 'tests',
    tests: ['src/downstream/taken-away.test.ts'],
    promise: 'policy-at-once',
    edits: [
      {
        find: `about: { kind: 'tool', name: tool },`,
        replace: `about: { kind: 'tool', name: begun?.tool ?? null },`,
      },
    ],
  },
  {
    id: 'role-any-task-watched',
    breaks: 'What a task says is decided by any tool of its server once its connection has ended.',
    file: 'src/downstream/tasks/task-news.ts',
    foundBy: 'tests',
    tests: ['src/downstream/taken-away.test.ts'],
    promise: 'policy-at-once',
    edits: [{ find: 'principal, watched.tool)', replace: 'principal, task?.tool ?? null)' }],
  },
  {
    id: 'role-decided-once',
    breaks:
      'A call is decided when it begins, and sent after any wait without being decided again.',
    file: 'src/host/call/attempts.ts',
    foundBy: 'tests',
    tests: ['src/host/call/decided-again.test.ts'],
    promise: 'policy-at-once',
    edits: [
      {
        find: `        decideAgain(this.#parts, this.#call);
        this.#call.offered`,
        replace: '        this.#call.offered',
      },
    ],
  },
  {
    id: 'role-kept-answer',
    breaks:
      'What is kept with an idempotency key is given to who waited and may not have it any more.',
    file: 'src/host/call/decision.ts',
    foundBy: 'tests',
    tests: ['src/host/call/decided-again.test.ts'],
    promise: 'policy-at-once',
    edits: [{ find: 'if (call.attempts > 0) return;', replace: 'if (call.attempts >= 0) return;' }],
  },
  {
    id: 'role-discovery',
    breaks: 'Looking around starts and names servers of which a role sees nothing.',
    file: 'src/host/discovery.ts',
    foundBy: 'tests',
    tests: ['src/host/discovery.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: `const visible = servers.filter(({ name }) =>
    access.isAllowed(principal, serverRequest('list', name)),
  );`,
        replace: `const visible = servers;
  void access;`,
      },
    ],
  },
  {
    id: 'role-discovered-tools',
    breaks: 'Looking around finds tools that a role may not use.',
    file: 'src/host/discovery.ts',
    foundBy: 'tests',
    tests: ['src/instance/control-access.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: '.filter((tool) => parts.access.isAllowed(principal, listed(server, tool.name)));',
        replace: ';',
      },
    ],
  },
  {
    id: 'role-definitions',
    breaks:
      'The tools of a server that a role does not see are asked for, and it is said whether it exists.',
    file: 'src/host/discovery.ts',
    foundBy: 'tests',
    tests: ['src/instance/control-access.test.ts'],
    promise: 'roles-deny',
    edits: [
      { find: "parts.access.authorize(principal, serverRequest('list', name));", replace: '' },
    ],
  },
  {
    id: 'role-events',
    breaks: 'The events of servers that the role of the local user does not see are told.',
    file: 'src/host/host-core.ts',
    foundBy: 'tests',
    tests: ['src/downstream/roles.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: "server === '' || this.access.isAllowed(localUser, serverRequest('events', server));",
        replace: 'server !== undefined;',
      },
    ],
  },
  {
    id: 'role-output',
    breaks: 'What a server writes is told to a role that is no operator, or does not see it.',
    file: 'src/host/host-core.ts',
    foundBy: 'tests',
    tests: ['src/instance/control-access.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: "this.parts.access.authorize(localUser, serverRequest('events', server));",
        replace: '',
      },
    ],
  },
  {
    id: 'role-stop',
    breaks: 'A role that is no operator stops a server, or one that it does not see.',
    file: 'src/host/servers/server-control.ts',
    foundBy: 'tests',
    tests: ['src/instance/control-access.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: "this.#parts.access.authorize(localUser, serverRequest('stop', name));",
        replace: '',
      },
    ],
  },
  {
    id: 'role-reload',
    breaks: 'A role that is no operator starts a server anew, or one that it does not see.',
    file: 'src/host/servers/server-control.ts',
    foundBy: 'tests',
    tests: ['src/instance/control-access.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: "this.#parts.access.authorize(localUser, serverRequest('reload', name));",
        replace: '',
      },
    ],
  },
  {
    id: 'role-lease',
    breaks: 'A server that the role of the local user does not see is started by a command.',
    file: 'src/host/servers/server-control.ts',
    foundBy: 'tests',
    tests: ['src/instance/control-access.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: "this.#parts.access.authorize(localUser, serverRequest('lease', name));",
        replace: '',
      },
    ],
  },
  {
    id: 'role-seen-servers',
    breaks: 'A command is answered about a server that the role of the local user does not see.',
    file: 'src/host/host-core.ts',
    foundBy: 'tests',
    tests: ['src/instance/control-access.test.ts'],
    promise: 'roles-deny',
    edits: [
      { find: "this.parts.access.authorize(localUser, serverRequest('list', name));", replace: '' },
    ],
  },
  {
    id: 'guard-spawn',
    breaks: 'A server is registered without asking the guard.',
    file: 'src/host/servers/server-control.ts',
    foundBy: 'tests',
    tests: ['src/downstream/method-access.test.ts'],
    promise: 'guard',
    edits: [
      {
        find: "access.authorize(localUser, serverRequest('spawn', name));",
        replace: 'void access;',
      },
    ],
  },
  {
    id: 'role-server-names',
    breaks: 'The error for a server that does not exist names servers that a role does not see.',
    file: 'src/host/pipeline-parts.ts',
    foundBy: 'tests',
    tests: ['src/host/told-names.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: "return (server) => this.access.isAllowed(principal, serverRequest('list', server));",
        replace: "return (server) => server !== '' && principal !== undefined;",
      },
    ],
  },
  {
    id: 'role-disabled-servers',
    breaks: 'Somebody who is no operator is told why a server cannot be used.',
    file: 'src/host/call/call.ts',
    foundBy: 'tests',
    tests: ['src/host/told-names.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: "if (isHere || isOperatorOf(principal, '')) throw thrown;",
        replace: "if (isHere || isOperatorOf(principal, '') || server) throw thrown;",
      },
    ],
  },
  {
    id: 'role-tool-names',
    breaks: 'The error for a tool that does not exist names tools that a role may not use.',
    file: 'src/host/call/call-faults.ts',
    foundBy: 'tests',
    tests: ['src/host/told-names.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: 'return (name) => access.isAllowed(principal, { ...asked, name });',
        replace: 'return (name) => [access, principal, asked, name].length > 0;',
      },
    ],
  },
  {
    id: 'role-own-list',
    breaks: 'The list has the tools of the gateway itself that a role may not use.',
    file: 'src/downstream/view/view.ts',
    foundBy: 'tests',
    tests: ['src/downstream/roles.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: 'const own = ownDefinitions(this.#settings, servers, mayList);',
        replace:
          'const own = ownDefinitions(this.#settings, servers, () => mayList !== undefined);',
      },
    ],
  },
  {
    id: 'role-audited-late',
    breaks: 'A call stands in line though its role was taken away while the audit log was written.',
    file: 'src/host/call/call.ts',
    foundBy: 'tests',
    tests: ['src/host/call/decided-again.test.ts'],
    promise: 'policy-at-once',
    edits: [
      {
        find: `      await written;
      decideAgain(parts, call);`,
        replace: '      await written;',
      },
    ],
  },
  {
    id: 'role-charged-late',
    breaks: 'A call stands in line though its role was taken away while its budget was read.',
    file: 'src/host/call/call.ts',
    foundBy: 'tests',
    tests: ['src/host/call/decided-again.test.ts'],
    promise: 'policy-at-once',
    edits: [
      {
        find: `      await waitedFor(call, wait);
      decideAgain(parts, call);`,
        replace: '      await waitedFor(call, wait);',
      },
    ],
  },
  {
    id: 'role-charged-answer',
    breaks: 'A call is charged for an answer that it may not have any more.',
    file: 'src/host/call/call.ts',
    foundBy: 'tests',
    tests: ['src/host/call/decided-again.test.ts'],
    promise: 'policy-at-once',
    edits: [{ find: "if (!isKeyed) decideOnAnswer(parts, call, 'no');", replace: '' }],
  },
  {
    id: 'role-shared-answer',
    breaks: 'A call gets the answer that is kept with its key though its role was taken away.',
    file: 'src/host/call/call.ts',
    foundBy: 'tests',
    tests: ['src/host/call/decided-again.test.ts'],
    promise: 'policy-at-once',
    edits: [{ find: "decideOnAnswer(parts, call, isKeyed ? 'yes' : 'no');", replace: '' }],
  },
  {
    id: 'role-kept-error',
    breaks: 'A call gets the error that is kept with its key though its role was taken away.',
    file: 'src/host/call/call.ts',
    foundBy: 'tests',
    tests: ['src/host/call/decided-again.test.ts'],
    promise: 'policy-at-once',
    edits: [
      {
        find: 'namedFault(faultToTell(parts, call, faultFrom(thrown)), call)',
        replace: 'namedFault([faultToTell, faultFrom(thrown)][1] as Fault, call)',
      },
    ],
  },
  {
    id: 'role-started-late',
    breaks: 'A server is started for a call whose role was taken away while it waited.',
    file: 'src/host/call/attempts.ts',
    foundBy: 'tests',
    tests: ['src/host/call/decided-again.test.ts'],
    promise: 'policy-at-once',
    edits: [
      {
        find: `    // Nothing is started for who may not use it any more.
    decideAgain(this.#parts, this.#call);
`,
        replace: '',
      },
    ],
  },
  {
    id: 'hidden-progress',
    breaks: 'The progress of a call whose tool was hidden is told.',
    file: 'src/downstream/relay/relay.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [
      {
        find: 'if (this.#parts.isHeard(incoming)) incoming.progressed(params);',
        replace: 'incoming.progressed(params);',
      },
    ],
  },
  {
    id: 'hidden-input',
    breaks: 'The question that a modern server answers with is asked though its tool was hidden.',
    file: 'src/downstream/relay/relay.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [
      {
        find: 'if (!this.#parts.isHeard(incoming)) return this.#deliverFault(incoming, to, hiddenFault(to));',
        replace: '',
      },
    ],
  },
  {
    id: 'hidden-address',
    breaks: 'A client is asked to open the address of a tool that was hidden.',
    file: 'src/downstream/relay/relay.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [
      {
        find: 'if (this.#parts.isHeard(incoming)) return this.#elicitByAddress(incoming, to, fault);',
        replace: 'if (fault) return this.#elicitByAddress(incoming, to, fault);',
      },
    ],
  },
  {
    id: 'hidden-task-asks',
    breaks: 'A task asks its client though its tool was hidden.',
    file: 'src/downstream/clients/hearing.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [
      {
        find: '      return access.isAllowed(principal, request);',
        replace: '      return request.server === server;',
      },
    ],
  },
  {
    id: 'hidden-server-asks',
    breaks: 'A server that was hidden asks its only client between calls.',
    file: 'src/downstream/clients/hearing.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [
      {
        find: 'return seesServer(this.#host, principal, server);',
        replace: 'return seesServer !== undefined;',
      },
    ],
  },
  {
    id: 'hidden-questions',
    breaks: 'A legacy client is asked by a server that was hidden.',
    file: 'src/downstream/clients/legacy-session.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [{ find: 'this.#isSilent || !mayHear()', replace: 'this.#isSilent' }],
  },
  {
    id: 'hidden-messages',
    breaks: 'A legacy client hears the log lines of a server that was hidden.',
    file: 'src/downstream/clients/legacy-session.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [{ find: 'if (!this.#mayHear(server, message, caller)) return;', replace: '' }],
  },
  {
    id: 'question-of-another',
    breaks: 'The question of a parked call is shown to another principal with the same key.',
    file: 'src/downstream/relay/parking.ts',
    foundBy: 'tests',
    tests: ['src/downstream/relay/parking.test.ts'],
    promise: 'own-answers-only',
    edits: [
      {
        find: 'call.key !== key || call.principal !== incoming.principal.id',
        replace: 'call.key !== key',
      },
    ],
  },
  {
    id: 'call-of-another',
    breaks: 'A parked call is continued by another principal that has its state.',
    file: 'src/downstream/relay/parking.ts',
    foundBy: 'tests',
    tests: ['src/downstream/relay/parking.test.ts'],
    promise: 'state-once',
    edits: [
      {
        find: 'state.principal === incoming.principal.id && call?.fingerprint',
        replace: 'call?.fingerprint',
      },
    ],
  },
  {
    id: 'state-of-another',
    breaks: 'The state of a question of a modern server is valid for every principal.',
    file: 'src/downstream/relay/sealed-states.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    edits: [
      { find: 'return isInTime && isTheirs &&', replace: 'void isTheirs; return isInTime &&' },
    ],
  },
  {
    id: 'hidden-stays-watched',
    breaks: 'A resource stays watched for a legacy client after it was hidden.',
    file: 'src/downstream/gateway.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [
      {
        find: 'session.policyChanged((watched) => mayWatch(this, session.principal, watched));',
        replace: 'session.policyChanged(() => true);',
      },
    ],
  },
  {
    id: 'hidden-stays-listened',
    breaks: 'A resource stays watched for a modern client after it was hidden.',
    file: 'src/downstream/gateway.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [
      {
        find: 'watch: (watched) => mayWatch(this, principal, watched),',
        replace: 'watch: () => true,',
      },
    ],
  },
  {
    id: 'hidden-modern-questions',
    breaks: 'A modern client is asked by a server that was hidden.',
    file: 'src/downstream/clients/modern-client.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [
      {
        find: 'this.#mayHear(question.server, message, caller);',
        replace: 'question.server !== undefined;',
      },
    ],
  },
  {
    id: 'hidden-modern-messages',
    breaks: 'A modern client hears what a server says that was hidden.',
    file: 'src/downstream/clients/modern-client.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [
      {
        find: 'if (!(caller instanceof Incoming) || !this.#mayHear(server, message, caller)) return;',
        replace: 'if (!(caller instanceof Incoming) || server === undefined) return;',
      },
    ],
  },
  {
    id: 'guard-news',
    breaks: 'Clients hear that the list of a server has changed that they may not see.',
    file: 'src/downstream/client-news.ts',
    foundBy: 'tests',
    tests: ['src/downstream/method-access.test.ts'],
    promise: 'guard',
    edits: [
      {
        find: 'isPolicyNew || requests.some((request) => access.isAllowed(principal, request));',
        replace: '[access, principal, requests].length > 0;',
      },
    ],
  },
  {
    id: 'guard-kept-tools',
    breaks: 'Looking around with what is kept finds tools that may not be used.',
    file: 'src/host/discovery.ts',
    foundBy: 'tests',
    tests: ['src/host/discovery.test.ts'],
    promise: 'guard',
    edits: [
      {
        find: `const allowed = tools.filter((tool) =>
    parts.access.isAllowed(principal, listed(server, tool.name)),
  );`,
        replace: 'const allowed = tools;',
      },
    ],
  },
  {
    id: 'role-notifications',
    breaks: 'Notifications of a client reach servers that it may not use.',
    file: 'src/downstream/clients/client-notifications.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'guard',
    edits: [
      {
        find: 'if (!host.access.isAllowed(principal, request)) continue;',
        replace: 'void request;',
      },
    ],
  },
  {
    id: 'role-calls',
    breaks: 'The pipeline carries calls without asking.',
    file: 'src/host/call/decision.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'guard',
    rules: ['roles-deny', 'guard'],
    edits: [
      {
        find: 'access.authorize(request.principal, accessRequestOf(request));',
        replace: 'void [access, accessRequestOf];',
      },
    ],
  },
  {
    id: 'role-status',
    breaks: 'The state of servers is told to who may not see them.',
    file: 'src/host/status-reading.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'guard',
    edits: [
      {
        find: `access.isAllowed(principal, serverRequest('status', name));`,
        replace: `[access, principal, serverRequest, name].length > 0;`,
      },
    ],
  },
  {
    id: 'role-command',
    breaks: 'Somebody other than the local user runs a command.',
    file: 'src/host/calling.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'guard',
    edits: [{ find: 'if (principal !== localUser) {', replace: 'if (principal === null) {' }],
  },
  {
    id: 'path-cut',
    breaks: 'A path that narrows takes nothing away.',
    file: 'src/policy/access.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'path-takes-away',
    edits: [
      {
        find: '(cut && this.#cutDenial(cut, request)) ??',
        replace: '(cut && void this.#cutDenial(cut, request)) ??',
      },
    ],
  },
  {
    id: 'path-same-principal',
    breaks: 'What is begun under one path can be used under another.',
    file: 'src/policy/principal.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'path-takes-away',
    edits: [{ find: `\`\${owner.id}/\${kind}/\${name}\``, replace: 'owner.id' }],
  },
  {
    id: 'unbound-handle',
    breaks: 'The handle of a task is valid for every principal.',
    file: 'src/downstream/tasks/task-handles.ts',
    foundBy: 'tests',
    tests: [...roleTests, 'src/downstream/tasks/task-handles.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: `const text = this.#seal.names.read(['task', principal.id], handle);`,
        replace: `const text = this.#seal.names.read(['task', ''], handle); void principal;`,
      },
      {
        find: `return this.#seal.names.hide(['task', principal.id], JSON.stringify(parts));`,
        replace: `void principal; return this.#seal.names.hide(['task', ''], JSON.stringify(parts));`,
      },
    ],
  },
  {
    id: 'unbound-cursor',
    breaks: 'The cursor of one principal or path is valid for another.',
    file: 'src/catalog/cursors.ts',
    foundBy: 'tests',
    tests: ['src/catalog/cursors.test.ts', ...roleTests],
    promise: 'path-takes-away',
    edits: [
      {
        find: `this.#names.read(['cursor', this.#owner, list], cursor)`,
        replace: `this.#names.read(['cursor', list], cursor)`,
      },
      {
        find: `this.#names.hide(['cursor', this.#owner, list], JSON.stringify(parts))`,
        replace: `this.#names.hide(['cursor', list], JSON.stringify(parts))`,
      },
    ],
  },
  {
    id: 'role-denied-by-nobody',
    breaks: 'What a role denies is allowed if a pattern of "allow" matches it too.',
    file: 'src/policy/roles/role.ts',
    foundBy: 'tests',
    tests: [...roleTests, 'src/policy/roles/role.test.ts'],
    promise: 'roles-deny',
    edits: [
      {
        find: 'const against = this.#deny.find(server, isMatch);',
        replace: 'const against = undefined as Pattern | undefined;',
      },
    ],
  },
  {
    id: 'role-unknown-is-all',
    breaks: 'A role that the config does not have may do everything.',
    file: 'src/policy/roles/roles.ts',
    foundBy: 'tests',
    tests: roleTests,
    promise: 'roles-deny',
    edits: [{ find: `\`there is no role '\${role}' in the config\``, replace: 'undefined' }],
  },
  {
    id: 'audit-endless-queue',
    breaks: 'Lines that calls wait for are queued without a limit while the disk hangs.',
    file: 'src/audit/audit-trail.ts',
    foundBy: 'tests',
    tests: ['src/audit/audit-trail.test.ts', 'src/downstream/audited.test.ts'],
    promise: 'audit',
    rules: ['audit', 'no-growth'],
    edits: [
      {
        find: 'if (this.#toKeep >= this.#maxWaiting) return this.#refuseFull();',
        replace: 'void this.#refuseFull;',
      },
    ],
  },
  {
    id: 'audit-every-denial',
    breaks: 'Each denied request has a line of its own, however many there are.',
    file: 'src/audit/audit-trail.ts',
    foundBy: 'tests',
    tests: ['src/audit/denials.test.ts', 'src/downstream/audited.test.ts'],
    promise: 'audit',
    rules: ['audit', 'no-growth'],
    edits: [{ find: 'this.#denials.add(denial)', replace: 'this.note(denial.record())' }],
  },
  {
    id: 'audit-lost-denials',
    breaks: 'Denials beyond the first few of a principal are dropped instead of counted.',
    file: 'src/audit/denials.ts',
    foundBy: 'tests',
    tests: ['src/audit/denials.test.ts', 'src/downstream/audited.test.ts'],
    promise: 'audit',
    rules: ['audit', 'no-growth'],
    edits: [{ find: 'counted.count += 1;', replace: 'counted.count = 1;' }],
  },
  {
    id: 'audit-stops',
    breaks: 'A line that comes while a slow write is under way is the last one that is written.',
    file: 'src/audit/audit-trail.ts',
    foundBy: 'tests',
    tests: ['src/audit/audit-trail.test.ts'],
    promise: 'audit',
    edits: [
      {
        find: `this.#timer = undefined;
      this.#work();`,
        replace: 'this.#work();',
      },
    ],
  },
  {
    id: 'own-view-unread',
    breaks: 'A client with a role is not told of a change that its server has only announced.',
    file: 'src/downstream/client-news.ts',
    foundBy: 'tests',
    tests: ['src/downstream/own-view-changed.test.ts'],
    promise: 'own-view',
    edits: [
      {
        find: 'this.#parts.view.readAgain(list, server, callerOf(told));',
        replace: 'void server;',
      },
    ],
  },
  {
    id: 'hidden-speaks',
    breaks: 'A server that was hidden from a client still speaks to it and asks it.',
    file: 'src/downstream/clients/hearing.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [
      {
        find: "if (access.scopeOf(principal) === '') return true;",
        replace: 'if (access) return true;',
      },
    ],
  },
  {
    id: 'hidden-call-speaks',
    breaks:
      'A call of a tool that was hidden meanwhile goes on with its progress and its questions.',
    file: 'src/downstream/clients/hearing.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [{ find: 'allowedAt === access.version ||', replace: 'allowedAt <= access.version ||' }],
  },
  {
    id: 'hidden-still-asks',
    breaks: 'What a client is being asked is not withdrawn when its server is hidden.',
    file: 'src/downstream/clients/asked-client.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [{ find: 'if (!mayHear()) withdraw();', replace: 'void [mayHear, withdraw];' }],
  },
  {
    id: 'hidden-parked',
    breaks: 'A call waits for the answer to a question that its client may not hear any more.',
    file: 'src/downstream/relay/parking.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [
      {
        find: 'if (call.isAsking && !isHeard(call.caller)) call.giveUp();',
        replace: 'void [call, isHeard];',
      },
    ],
  },
  {
    id: 'hidden-watched',
    breaks: 'A resource stays watched at its server for a client that may not see it any more.',
    file: 'src/downstream/subscriptions/watching.ts',
    foundBy: 'tests',
    tests: ['src/downstream/hidden-later.test.ts'],
    promise: 'hidden-is-silent',
    edits: [
      {
        find: 'return host.access.isAllowed(principal, request);',
        replace: 'void [host, principal]; return request.server === server;',
      },
    ],
  },
  {
    id: 'private-result-of-anybody',
    breaks: 'A result that is private to one principal is cached for all of them.',
    file: 'src/host/call/cached-results.ts',
    foundBy: 'chaos',
    promise: 'own-answers-only',
    rules: ['foreignBytes'],
    edits: [
      { find: 'principal.id, args, canonical, audience', replace: '"", args, canonical, audience' },
    ],
  },
  {
    id: 'deny-forgotten',
    breaks: 'What a role denies may be called, because it is allowed as well.',
    file: 'src/policy/roles/role.ts',
    foundBy: 'chaos',
    promise: 'roles-deny',
    rules: ['deniedRan'],
    edits: [
      {
        find: 'const against = this.#deny.find(server, isMatch);',
        replace: 'const against = void 0;',
      },
    ],
  },
  {
    id: 'remembered-token',
    breaks: 'A token that was verified once stays valid after it was revoked.',
    file: 'src/downstream/http/access/token-table.ts',
    foundBy: 'chaos',
    promise: 'revoked',
    rules: ['afterRevocation'],
    edits: [{ find: 'this.#remembered.length = 0;', replace: '' }],
  },
  {
    id: 'stream-after-revocation',
    breaks: 'A token that is revoked is refused, but its open streams stay.',
    file: 'src/downstream/http/listener.ts',
    foundBy: 'chaos',
    promise: 'revoked',
    rules: ['afterRevocation'],
    edits: [
      {
        find: '[this.#sessions, this.#old, { endAccess: front.accessEnded.bind(front) }]',
        replace: '[]',
      },
      { find: 'this.#door.endAccess(ids);', replace: '' },
    ],
  },
  {
    id: 'numbers-of-others',
    breaks: 'Somebody who is no operator is told how many calls others have made.',
    file: 'src/downstream/view/host-tool-sources.ts',
    foundBy: 'tests',
    tests: ['src/downstream/told-counts.test.ts'],
    promise: 'own-view',
    rules: ['own-view', 'path-takes-away'],
    edits: [
      {
        find: 'if (!isOperator(principal)) return host.trafficOf(principal);',
        replace: '',
      },
    ],
  },
  {
    id: 'number-of-hidden-tools',
    breaks: 'The number of the tools of a server counts those that are hidden.',
    file: 'src/downstream/view/host-tool-sources.ts',
    foundBy: 'tests',
    tests: ['src/downstream/told-counts.test.ts'],
    promise: 'own-view',
    rules: ['own-view', 'path-takes-away'],
    edits: [
      {
        find: 'return [...offered.keys()].filter((tool) => mayKnow(server, tool)).length;',
        replace: 'void mayKnow; return offered.size;',
      },
    ],
  },
  {
    id: 'operator-behind-path',
    breaks: 'An operator stays one behind the path of a role that is none.',
    file: 'src/downstream/gateway.ts',
    foundBy: 'tests',
    tests: ['src/downstream/told-counts.test.ts'],
    promise: 'path-takes-away',
    edits: [
      {
        find: "cut.kind === 'server' || access.roles.isOperator(cut.name);",
        replace: "cut.kind === 'server' || access.roles !== undefined;",
      },
    ],
  },
  {
    id: 'operator-beyond-path',
    breaks: 'Behind the path of one server an operator is told the details of others.',
    file: 'src/policy/principal.ts',
    foundBy: 'tests',
    tests: ['src/policy/disclosure.test.ts'],
    promise: 'path-takes-away',
    edits: [
      {
        find: "cut.kind === 'server' ? server === cut.name : server !== ''",
        replace: "cut.kind === 'server' || server !== ''",
      },
    ],
  },
  {
    id: 'revoked-begins-again',
    breaks:
      'A stored session begins again for the second of the requests that look for it when its token is revoked.',
    file: 'src/downstream/http/legacy/sessions.ts',
    foundBy: 'tests',
    tests: ['src/downstream/http/legacy/revoked-sessions.test.ts'],
    promise: 'revoked',
    edits: [{ find: 'if (asking.isBarred) return undefined;', replace: '' }],
  },
  {
    id: 'method-runs-command',
    breaks: 'A method that was left from a trial runs the command that its parameters name.',
    file: 'src/downstream/methods.ts',
    foundBy: 'strangers',
    promise: 'no-foreign-start',
    rules: ['starts'],
    edits: [
      {
        find: 'const server = gateway.view.onlyServer(incoming.principal);',
        replace: `const { command, args } = JSON.parse(incoming.message.bytes.toString()).params ?? {};
  if (method === "servers/test" && command) gateway.host.callCommand([].concat(command, args ?? []), "ping", {}, {}).catch(() => {});
  const server = gateway.view.onlyServer(incoming.principal);`,
      },
    ],
  },
  {
    id: 'any-origin',
    breaks: 'The Origin of a request is not looked at.',
    file: 'src/downstream/http/front-door.ts',
    foundBy: 'strangers',
    promise: 'http-edge',
    rules: ['pages'],
    edits: [{ find: ' ?? hosts.originProblem(origin, host)', replace: '' }],
  },
  {
    id: 'any-site',
    breaks: 'What a page of another site loads without an Origin is served.',
    file: 'src/downstream/http/front-door.ts',
    foundBy: 'strangers',
    promise: 'http-edge',
    rules: ['pages'],
    edits: [{ find: ' ?? hosts.siteProblem(site, origin)', replace: '' }],
  },
  {
    id: 'host-that-begins-as-ours',
    breaks: 'A Host that begins with the name of this machine is taken for it.',
    file: 'src/downstream/http/access/host-check.ts',
    foundBy: 'strangers',
    promise: 'http-edge',
    rules: ['pages'],
    edits: [
      {
        find: 'if (plainLoopback.has(name) || this.#hosts.has(host)',
        replace:
          'if ([...plainLoopback].some((own) => name.startsWith(own)) || this.#hosts.has(host)',
      },
    ],
  },
  {
    id: 'type-after-body',
    breaks: 'A body of another type than JSON is refused only when all of it has been read.',
    file: 'src/downstream/http/json-body.ts',
    foundBy: 'strangers',
    promise: 'http-edge',
    rules: ['pages'],
    edits: [
      {
        find: 'return refuseHttp(res, 415, message);',
        replace: 'return void req.once("end", () => refuseHttp(res, 415, message)).resume();',
      },
    ],
  },
  {
    id: 'hidden-looked-up',
    breaks:
      'Of a name that is not found it is looked up whether it is hidden, before it is answered.',
    file: 'src/downstream/methods.ts',
    foundBy: 'strangers',
    promise: 'same-work',
    rules: ['timing'],
    edits: [
      {
        find: 'const fault = gateway.view.of(incoming.principal).tools.unread(name, incoming);',
        replace: `const owner = gateway.view.ownerOf("tool", name);
  if (owner) gateway.host.get(owner.server)?.offerings.definitions("tools")?.map(({ key }) => \`\${owner.server}__\${key}\`).sort();
  const fault = gateway.view.of(incoming.principal).tools.unread(name, incoming);`,
      },
    ],
  },
  {
    id: 'path-asks-hidden',
    breaks: 'The path of a hidden server takes more decisions than one of no server.',
    file: 'src/downstream/gateway.ts',
    foundBy: 'tests',
    tests: ['src/downstream/equal-work.test.ts'],
    promise: 'same-work',
    edits: [
      {
        find: 'const seen = requests.filter((request) => access.isAllowed(principal, request));',
        replace: 'const seen = requests;',
      },
    ],
  },
  {
    id: 'prefix-asks-hidden',
    breaks: 'The prefix of a hidden server takes a decision more than any other text.',
    file: 'src/downstream/view/name-table.ts',
    foundBy: 'tests',
    tests: ['src/downstream/equal-work.test.ts'],
    promise: 'same-work',
    edits: [
      {
        find: `.servers()
      .filter(({ name }) => host.access.isAllowed(`,
        replace: `.servers()
      .filter(({ name }) => mode !== 'prefix' || exposed.startsWith(prefixOf(name)))
      .filter(({ name }) => host.access.isAllowed(`,
      },
    ],
  },
  {
    id: 'roles-that-are-there',
    breaks: 'A role that the config has takes longer than one that it does not have.',
    file: 'src/policy/roles/roles.ts',
    foundBy: 'tests',
    tests: ['src/downstream/equal-work.test.ts'],
    promise: 'same-work',
    edits: [
      { find: '(rules ?? nobody).denial(request)', replace: 'rules?.denial(request); void nobody' },
    ],
  },
  {
    id: 'denied-at-once',
    breaks: 'Why a name is denied is found out before the next request is read.',
    file: 'src/host/call/call-audit.ts',
    foundBy: 'tests',
    tests: ['src/downstream/equal-work.test.ts'],
    promise: 'same-work',
    edits: [
      {
        find: `const record = () => {
      const { request, why } = refusal();`,
        replace: `const { request, why } = refusal();
    const record = () => {`,
      },
    ],
  },
  {
    id: 'config-starved',
    breaks: 'Each change in the folder of the config puts off the look at it.',
    file: 'src/instance/config-watch.ts',
    foundBy: 'tests',
    tests: ['src/instance/config-watch.test.ts'],
    promise: 'config-soon',
    edits: [
      {
        find: 'else if (this.#dueAt > this.#parts.clock.now() + settleMs) this.#lookIn(settleMs);',
        replace: 'else this.#lookIn(settleMs);',
      },
    ],
  },
  {
    id: 'policy-waits',
    breaks: 'Changed roles wait until the servers of an earlier config have ended.',
    file: 'src/host/apply.ts',
    foundBy: 'tests',
    tests: ['src/downstream/roles.test.ts'],
    promise: 'policy-at-once',
    edits: [
      {
        find: 'this.#takePolicy(next);',
        replace: 'this.#last.then(() => this.#takePolicy(next)).catch(() => {});',
      },
    ],
  },
  {
    id: 'stranger-in-line',
    breaks:
      'A stranger waits in the line of a local client with its name, and its slot is never free again.',
    file: 'src/supervise/admission.ts',
    foundBy: 'tests',
    tests: ['src/supervise/admission.test.ts'],
    promise: 'principal-share',
    edits: [
      {
        find: 'line.client === client && line.owner === owner',
        replace: 'line.client === client && (line.owner === owner || true)',
      },
    ],
  },
  {
    id: 'all-slots-for-one',
    breaks: 'One remote owner may have all slots of a server.',
    file: 'src/supervise/admission.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/downstream/fair-share.test.ts', 'src/supervise/admission.test.ts'],
    edits: [
      {
        find: 'this.#counts.of(owner) < shareOf(this.#concurrency)',
        replace: 'shareOf(this.#concurrency) > 0',
      },
    ],
  },
  {
    id: 'question-without-end',
    breaks: 'A request of a server waits for its client for ever.',
    file: 'src/host/connections/open-questions.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/downstream/fair-share.test.ts'],
    edits: [
      { find: 'after(answerMs, giveUp, true)', replace: 'after(1_000 * answerMs, giveUp, true)' },
    ],
  },
  {
    id: 'processes-without-bound',
    breaks: 'Each session of one owner gets a process of its own, however many there are.',
    file: 'src/host/servers/connection-maker.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/downstream/reserved-share.test.ts'],
    edits: [{ find: 'this.#server.slots.makeRoom(slot);', replace: '' }],
  },
  {
    id: 'idle-of-others-first',
    breaks: 'A process that is idle is ended for the next one of a principal, whoever it is for.',
    file: 'src/host/connections/own-room.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/downstream/reserved-share.test.ts'],
    edits: [{ find: 'closeOne(own, share, server)', replace: 'closeOne(open, share, server)' }],
  },
  {
    id: 'bodies-without-share',
    breaks: 'One principal may send as many unfinished bodies as there is room for.',
    file: 'src/downstream/http/body-budget.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/downstream/http/body-budget.test.ts'],
    edits: [{ find: 'own + bytes > shareOf(this.#total)', replace: 'own + bytes > this.#total' }],
  },
  {
    id: 'all-tasks-for-one',
    breaks: 'One principal may have all places for tasks of 2025-11-25, with several sessions.',
    file: 'src/host/tasks/begun-tasks.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/host/tasks/begun-tasks.test.ts'],
    edits: [
      {
        find: 'client.sharingOwner === sharingOwner',
        replace: 'client.sharingOwner === sharingOwner && client.key === key',
      },
    ],
  },
  {
    id: 'answers-of-others-go-first',
    breaks: 'Kept answers of keys go in the order in which they came, whoever has too many.',
    file: 'src/policy/keyed-index.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/policy/keyed-memory.test.ts'],
    edits: [
      {
        find: 'const largest = this.#bytesOf.largest();',
        replace: 'const [largest] = this.#answers.keys();',
      },
    ],
  },
  {
    id: 'free-errors',
    breaks: 'What a server writes into its errors is not counted in the bytes of a budget.',
    file: 'src/host/call/charge.ts',
    foundBy: 'tests',
    promise: 'budgets-kept',
    tests: ['src/downstream/role-budgets.test.ts'],
    edits: [{ find: 'await countBytes(parts, call, answer.error.length);', replace: '' }],
  },
  {
    id: 'free-progress',
    breaks:
      'What a server writes into the progress of a call is not counted in the bytes of a budget.',
    file: 'src/host/call/charge.ts',
    foundBy: 'tests',
    promise: 'budgets-kept',
    tests: ['src/downstream/role-budgets.test.ts'],
    edits: [
      {
        find: 'return isWithin(() => countBytes(parts, call, bytes));',
        replace: 'return bytes >= 0;',
      },
    ],
  },
  {
    id: 'new-minute-after-restart',
    breaks: 'A restart begins a new minute for every budget.',
    file: 'src/policy/role-budgets/account.ts',
    foundBy: 'tests',
    promise: 'budgets-kept',
    tests: ['src/downstream/role-budgets.test.ts'],
    edits: [
      {
        find: 'new MinuteWindow(clock, this.#maxPerMinute, spent.minute)',
        replace: 'new MinuteWindow(clock, this.#maxPerMinute)',
      },
    ],
  },
  {
    id: 'modern-clients-share-nothing',
    breaks:
      'The processes, requests, streams and tasks of modern clients are not counted for their owner.',
    file: 'src/downstream/clients/modern-client.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/downstream/reserved-share.test.ts'],
    edits: [
      {
        find: 'this.sharingOwner = sharingOwner;',
        replace: 'this.sharingOwner = sharingOwner && undefined;',
      },
    ],
  },
  {
    id: 'described-though-hidden',
    breaks: 'A tool is described to a client from which it was hidden while its server was asked.',
    file: 'src/downstream/view/own-tools.ts',
    foundBy: 'tests',
    promise: 'policy-at-once',
    tests: ['src/downstream/hidden-while-waiting.test.ts'],
    edits: [{ find: '!definition || !isStillMeant', replace: '!definition' }],
  },
  {
    id: 'denied-calls-charged',
    breaks:
      'A call that is denied while it waits, and is never sent, is charged to the budget of its role.',
    file: 'src/host/call/call.ts',
    foundBy: 'tests',
    promise: 'budgets-kept',
    tests: ['src/downstream/role-budgets.test.ts'],
    edits: [{ find: 'giveBackDenied(parts, call, failed);', replace: '' }],
  },
  {
    id: 'folded-for-each-pattern',
    breaks: 'An address is folded again for each pattern of a role that is compared with it.',
    file: 'src/policy/roles/address-readings.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/policy/roles/address-readings.test.ts'],
    edits: [
      {
        find: 'this.#folded ??= [...new Set(',
        replace: 'this.#folded = [...new Set(',
      },
    ],
  },
  {
    id: 'addresses-of-any-length',
    breaks: 'A role decides about addresses of any length, so one of megabytes stops the gateway.',
    file: 'src/policy/roles/role.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/policy/roles/address-readings.test.ts'],
    edits: [{ find: 'if (isTooLong(address)) return tooLong;', replace: '' }],
  },
  {
    id: 'record-for-each-denial',
    breaks: 'For every refused request a record is made, also where it is only counted.',
    file: 'src/audit/denials.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/audit/denials.test.ts'],
    edits: [
      { find: 'const latest = latestOf(denial);', replace: 'const latest = denial.record();' },
    ],
  },
  {
    id: 'secrets-server-by-server',
    breaks: 'What was refused is looked through again for the secrets of each server.',
    file: 'src/host/pipeline-parts.ts',
    foundBy: 'tests',
    promise: 'same-work',
    tests: ['src/downstream/equal-work.test.ts'],
    edits: [
      {
        find: 'isCut ? secrets.redactor.cut(text) : secrets.redactor.text(text);',
        replace:
          'isCut ? secrets.redactor.cut(text) : this.registry.all().reduce((shown, { redactor }) => redactor.text(shown), text);',
      },
    ],
  },
  {
    id: 'half-a-secret',
    breaks: 'A name that is cut for the audit log ends with the beginning of a secret.',
    file: 'src/host/call/call-audit.ts',
    foundBy: 'tests',
    promise: 'stderr-guarded',
    tests: ['src/downstream/audited.test.ts'],
    edits: [{ find: 'text.length > longestText);', replace: 'false);' }],
  },
  {
    id: 'sessions-without-weight',
    breaks: 'What clients say to set their sessions up is not bounded for one owner.',
    file: 'src/downstream/http/legacy/setup-bytes.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/downstream/http/legacy/sessions.test.ts'],
    edits: [
      {
        find: 'return this.#byOwner.of(owner) + more > shareOf(this.#maxBytes);',
        replace: 'return more > shareOf(this.#maxBytes);',
      },
    ],
  },
  {
    id: 'old-sessions-without-weight',
    breaks: 'What clients of the transport of 2024 say to set their sessions up is not bounded.',
    file: 'src/downstream/http/legacy/sse-2024.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/downstream/http/legacy/setup-bytes.test.ts'],
    edits: [
      {
        find: 'const refusal = setups.refusal(client, message);',
        replace: 'const refusal = undefined as string | undefined;',
      },
    ],
  },
  {
    id: 'unstored-sessions-without-weight',
    breaks: 'What a client says after `initialize` is counted only where sessions are stored.',
    file: 'src/downstream/http/legacy/legacy-endpoint.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/downstream/http/legacy/setup-bytes.test.ts'],
    edits: [
      {
        find: 'if (!ClientSetup.concerns(message.method)) return reply;',
        replace:
          'if (!this.#sessions.areKept || !ClientSetup.concerns(message.method)) return reply;',
      },
    ],
  },
  {
    id: 'setup-counted-late',
    breaks:
      'Requests that set a session up count when they are answered: any number at once is taken.',
    file: 'src/downstream/http/legacy/setup-bytes.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/downstream/http/legacy/setup-bytes.test.ts'],
    edits: [
      { find: 'session.askedBytes += more;', replace: 'session.askedBytes += 0;' },
      {
        find: 'this.weigh(session, session.setupBytes + more);',
        replace: 'this.weigh(session, session.setupBytes + 0 * more);',
      },
    ],
  },
  {
    id: 'roots-of-each-path',
    breaks: 'A token has room for waiting calls on each of its paths.',
    file: 'src/downstream/clients/roots-room.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/downstream/clients/roots-room.test.ts', 'src/downstream/modern-roots.test.ts'],
    edits: [
      {
        find: 'const owner = limitedAs(client);',
        replace: 'const owner = limitedAs({ key: client.key });',
      },
    ],
  },
  {
    id: 'roots-without-weight',
    breaks: 'Calls that wait for the roots of their client may have any number of bytes.',
    file: 'src/downstream/clients/roots-room.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/downstream/clients/roots-room.test.ts'],
    edits: [
      {
        find: 'count >= maxWaiting || (bytes > 0 && bytes + more > shareOf(maxBytes))',
        replace: 'count >= maxWaiting || (bytes < 0 && bytes + more > shareOf(maxBytes))',
      },
    ],
  },
  {
    id: 'roots-of-others-stay',
    breaks: 'Who has the most waiting calls keeps them, and others get no room.',
    file: 'src/downstream/clients/roots-room.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/downstream/clients/roots-room.test.ts'],
    edits: [{ find: 'if (largest === owner) this', replace: 'if (largest) this' }],
  },
  {
    id: 'outcomes-without-share',
    breaks: 'One owner may have all outcomes of parked calls that are kept.',
    file: 'src/downstream/relay/kept-outcomes.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/downstream/relay/kept-outcomes.test.ts'],
    edits: [
      {
        find: 'while (this.#isBeyondShare(owner)) this.#forgetOldest(owner);',
        replace: 'void this.#isBeyondShare;',
      },
    ],
  },
  {
    id: 'outcomes-without-weight',
    breaks: 'Outcomes of parked calls are kept however many bytes they have together.',
    file: 'src/downstream/relay/kept-outcomes.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/downstream/relay/kept-outcomes.test.ts'],
    edits: [
      {
        find: 'while (this.#all > maxBytes) this.#forgetOldest(this.#bytes.largest());',
        replace: '',
      },
    ],
  },
  {
    id: 'capabilities-of-any-size',
    breaks: 'A client can declare capabilities of any size, which are kept with its session.',
    file: 'src/downstream/clients/legacy-session.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/downstream/clients/legacy-session.test.ts'],
    edits: [
      {
        find: 'if (capabilities && capabilities.end - capabilities.start > maxCapabilityBytes) {',
        replace: 'if (capabilities && capabilities.end < capabilities.start) {',
      },
    ],
  },
  {
    id: 'uncut-and-open',
    breaks: 'A file of the audit log whose unfinished line cannot be cut off is never closed.',
    file: 'src/audit/track.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/audit/audit-trail.test.ts'],
    edits: [
      {
        find: `await this.#close();
      throw errnoOf(error)`,
        replace: 'throw errnoOf(error)',
      },
    ],
  },
  {
    id: 'one-track-for-ever',
    breaks: 'A file of the audit log that can only be appended to stops the log for good.',
    file: 'src/audit/track.ts',
    foundBy: 'tests',
    promise: 'audit',
    tests: ['src/audit/audit-trail.test.ts'],
    edits: [{ find: `errnoOf(error) === 'EPERM' ? new`, replace: `errnoOf(error) === '' ? new` }],
  },
  {
    id: 'denied-folder-is-read',
    breaks: 'A role that denies all that is in a folder may read the folder, which lists it.',
    file: 'src/policy/roles/address-readings.ts',
    foundBy: 'tests',
    promise: 'roles-deny',
    tests: ['src/policy/roles/address-readings.test.ts'],
    edits: [{ find: '.flatMap(withFolder)', replace: '.filter((text) => withFolder(text))' }],
  },
  {
    id: 'role-from-the-letter',
    breaks: 'The role of a worker is what its request says.',
    file: 'src/fleet/orchestrator/broker-front.ts',
    foundBy: 'tests',
    promise: 'broker-identity',
    tests: ['src/fleet/orchestrator/forged-letters.test.ts'],
    edits: [
      {
        find: 'const principal = this.#parts.principalOf(mail.from);',
        replace: `const role = /"role":"(\\w+)"/.exec(mail.body.toString())?.[1] ?? mail.from.role;
    const principal = this.#parts.principalOf({ ...mail.from, role });`,
      },
    ],
  },
  {
    id: 'answer-where-it-says',
    breaks: 'The answer to a worker goes to the mailbox that its request names.',
    file: 'src/fleet/orchestrator/brokered-call.ts',
    foundBy: 'tests',
    promise: 'broker-identity',
    tests: ['src/fleet/orchestrator/forged-letters.test.ts'],
    edits: [
      {
        find: `      ...placeOf(from),
      kind: mailKinds.reply,`,
        replace: `      to: /"replyTo":"([\\w.]+)"/.exec(mail.body.toString())?.[1] ?? from.mailbox,
      seat: from.seat,
      kind: mailKinds.reply,`,
      },
    ],
  },
  {
    id: 'calls-of-all-workers',
    breaks: 'Calls of different workers with the same id are one call.',
    file: 'src/fleet/orchestrator/broker-front.ts',
    foundBy: 'tests',
    promise: 'broker-identity',
    tests: ['src/fleet/orchestrator/forged-letters.test.ts'],
    edits: [
      {
        find: `function keyOf({ mailbox, credential = '', seat }: Sender, id: string): string {`,
        replace: `function keyOf(_sender: Sender, id: string): string {
  const [mailbox, credential, seat] = ['', '', ''];`,
      },
    ],
  },
  {
    id: 'answers-of-the-name',
    breaks:
      'Who has the next credential of a name gets answers of the earlier one by their call ids.',
    file: 'src/fleet/orchestrator/broker-front.ts',
    foundBy: 'tests',
    promise: 'broker-identity',
    tests: ['src/fleet/orchestrator/reused-call-ids.test.ts'],
    edits: [{ find: ` \${credential} \${seat} \${id}`, replace: ` \${seat} \${id}` }],
  },
  {
    id: 'answer-to-another-request',
    breaks: 'A call id that comes with another request is answered with the answer of the first.',
    file: 'src/fleet/orchestrator/broker-front.ts',
    foundBy: 'tests',
    promise: 'broker-once',
    tests: ['src/fleet/orchestrator/reused-call-ids.test.ts'],
    edits: [{ find: 'known.digest !== digest', replace: 'digest.length === 0' }],
  },
  {
    id: 'transmission-is-the-request',
    breaks: 'A client that sends a call again with another progress token is refused.',
    file: 'src/fleet/orchestrator/request-digest.ts',
    foundBy: 'tests',
    promise: 'broker-once',
    tests: ['src/fleet/orchestrator/reused-call-ids.test.ts'],
    edits: [{ find: `key !== '_meta'`, replace: `key !== ''` }],
  },
  {
    id: 'refusal-takes-the-place',
    breaks: 'A request that reuses a call id takes the answer of the first away.',
    file: 'src/fleet/orchestrator/broker-front.ts',
    foundBy: 'tests',
    promise: 'broker-once',
    tests: ['src/fleet/orchestrator/reused-call-ids.test.ts'],
    edits: [
      {
        find: 'if (isReused) return this',
        replace:
          'if (isReused) this.#calls.get(keyOf(mail.from, callIdIn(mail)))?.cancel();\n    if (isReused) return this',
      },
    ],
  },
  {
    id: 'principal-of-the-name',
    breaks: 'The next credential of a name has the idempotency keys of the earlier one.',
    file: 'src/fleet/orchestrator/worker-principal.ts',
    foundBy: 'tests',
    promise: 'broker-identity',
    tests: ['src/fleet/orchestrator/reused-call-ids.test.ts'],
    edits: [{ find: `worker:\${mailbox}:\${credential}`, replace: `worker:\${mailbox}` }],
  },
  {
    id: 'client-of-the-name',
    breaks: 'The next credential of a name has the isolated servers of the earlier one.',
    file: 'src/fleet/orchestrator/worker-seats.ts',
    foundBy: 'tests',
    promise: 'broker-identity',
    tests: ['src/fleet/orchestrator/worker-seats.test.ts'],
    edits: [{ find: `/\${credential}/\${seat}`, replace: `/\${seat}` }],
  },
  {
    id: 'answer-to-the-name',
    breaks: 'The answer of a running call goes to the next credential of the name.',
    file: 'src/fleet/orchestrator/brokered-call.ts',
    foundBy: 'tests',
    promise: 'broker-identity',
    tests: ['src/fleet/orchestrator/brokered-call.test.ts'],
    edits: [
      {
        find: 'to: mailbox, seat, credential }',
        replace: 'to: mailbox, seat, credential: credential && undefined }',
      },
    ],
  },
  {
    id: 'told-calls-without-an-id',
    breaks: 'A call that several replicas are told runs in each of them.',
    file: 'src/fleet/orchestrator/broker-front.ts',
    foundBy: 'tests',
    promise: 'broker-once',
    tests: ['src/fleet/fleet.test.ts'],
    edits: [{ find: ` || message.method === 'tools/call'`, replace: '' }],
  },
  {
    id: 'nats-letters-of-the-revoked',
    breaks: 'A letter that waits on a NATS server runs with the role of a credential that is gone.',
    file: 'src/broker/nats/sender-check.ts',
    foundBy: 'tests',
    promise: 'revoked',
    tests: ['src/broker/nats/sender-check.test.ts'],
    edits: [{ find: `reason !== 'not_allowed'`, replace: `reason !== 'unauthorized'` }],
  },
  {
    id: 'handed-on-by-the-dead',
    breaks:
      'A letter that waits behind another is handed on by a link on NATS that has ended meanwhile.',
    file: 'src/broker/nats/sender-check.ts',
    foundBy: 'tests',
    promise: 'broker-lease',
    tests: ['src/broker/nats/sender-check.test.ts'],
    edits: [{ find: 'if (!this.#parts.isOver()) go(isCurrent);', replace: 'go(isCurrent);' }],
  },
  {
    id: 'forgotten-is-allowed',
    breaks:
      'A revoked worker is taken for a current one while very many letters are told at once on NATS.',
    file: 'src/broker/nats/sender-check.ts',
    foundBy: 'tests',
    promise: 'revoked',
    tests: ['src/broker/nats/sender-check.test.ts'],
    edits: [{ find: 'if (told.remembers(number)) return true;', replace: 'return true;' }],
  },
  {
    id: 'nats-checked-for-ever',
    breaks: 'A NATS server is asked once about a credential, and never again.',
    file: 'src/broker/nats/sender-check.ts',
    foundBy: 'tests',
    promise: 'revoked',
    tests: ['src/broker/nats/sender-check.test.ts'],
    edits: [{ find: '- known.askedAt < holdsMs', replace: '- known.askedAt < Number.MAX_VALUE' }],
  },
  {
    id: 'nats-any-credential',
    breaks:
      'A worker at a NATS server may send with the credential of an earlier holder of its name.',
    file: 'src/broker/nats/nats-config.ts',
    foundBy: 'tests',
    promise: 'broker-identity',
    tests: ['src/broker/nats/nats-config.test.ts'],
    edits: [
      {
        find: `senderParts(senderOf(from, '*'))`,
        replace: `senderParts({ ...senderOf(from, '*'), credential: '*' })`,
      },
    ],
  },
  {
    id: 'nats-old-credential-writable',
    breaks: 'A NATS server never says that a credential is gone.',
    file: 'src/broker/nats/nats-config.ts',
    foundBy: 'tests',
    promise: 'revoked',
    tests: ['src/broker/nats/nats-config.test.ts'],
    edits: [{ find: '[anyCredential, credential]', replace: `[anyCredential, '*']` }],
  },
  {
    id: 'nats-account-of-the-name',
    breaks: 'The next credential of a name reads the streams of the earlier one.',
    file: 'src/broker/nats/nats-config.ts',
    foundBy: 'tests',
    promise: 'broker-identity',
    tests: ['src/broker/nats/nats-config.test.ts'],
    edits: [{ find: `\`\${partOf(mailbox)}@\${id}\``, replace: 'partOf(mailbox)' }],
  },
  {
    id: 'mail-of-the-name',
    breaks: 'Mail that waits for a revoked credential is handed to the next one of the name.',
    file: 'src/broker/hub/hub.ts',
    foundBy: 'tests',
    promise: 'broker-identity',
    tests: ['src/broker/socket/socket-broker.test.ts'],
    edits: [
      {
        find: 'if (isOfWorker(to)) return this.#isGone(to, credential);',
        replace: 'if (credential && isOfWorker(to)) return false;',
      },
    ],
  },
  {
    id: 'kept-for-any-credential',
    breaks: 'A letter that is for one credential of a mailbox is kept for another.',
    file: 'src/broker/hub/hub.ts',
    foundBy: 'tests',
    promise: 'revoked',
    tests: ['src/broker/socket/socket-broker.test.ts'],
    edits: [
      {
        find: '{ ...letter, credential: this.#holderOf(letter) }',
        replace: '{ ...letter, credential: this.#holderOf({ ...letter, credential: undefined }) }',
      },
    ],
  },
  {
    id: 'hello-again',
    breaks: 'A link may say hello again and again.',
    file: 'src/broker/socket/hub-socket.ts',
    foundBy: 'tests',
    promise: 'broker-identity',
    tests: ['src/broker/socket/hub-socket.test.ts'],
    edits: [
      {
        find: `if (header.is === 'hello') return this.#refuse('bad_letter', 'a link says hello once');`,
        replace: `if (header.is === 'hello') return;`,
      },
    ],
  },
  {
    id: 'revoked-calls-go-on',
    breaks: 'The calls of a worker whose credential is revoked go on at the orchestrator.',
    file: 'src/fleet/orchestrator/broker-front.ts',
    foundBy: 'tests',
    promise: 'revoked',
    tests: ['src/fleet/orchestrator/worker-watch.test.ts'],
    edits: [
      {
        find: 'for (const call of calls) call.cancel();',
        replace: 'if (calls.length === 0) return;',
      },
    ],
  },
  {
    id: 'revoked-letters-are-read',
    breaks: 'What a worker has asked for before its credential was revoked is run afterwards.',
    file: 'src/broker/hub/kept-letters.ts',
    foundBy: 'tests',
    promise: 'revoked',
    tests: ['src/fleet/orchestrator/worker-watch.test.ts'],
    edits: [
      {
        find: 'if (!shelf.withdraw(held.number)) continue;',
        replace: 'if (held.number > 0) continue;',
      },
    ],
  },
  {
    id: 'away-is-revoked',
    breaks: 'A worker whose link is lost for a moment has its calls cancelled.',
    file: 'src/fleet/orchestrator/worker-watch.ts',
    foundBy: 'tests',
    promise: 'revoked',
    tests: ['src/fleet/orchestrator/worker-watch.test.ts'],
    edits: [
      {
        find: `if (reason === 'not_allowed') this`,
        replace: `if (reason !== 'closed') this`,
      },
    ],
  },
  {
    id: 'subscriptions-of-the-dead',
    breaks: 'What a worker that was killed has subscribed to is kept for ever.',
    file: 'src/fleet/orchestrator/worker-watch.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/fleet/orchestrator/worker-watch.test.ts'],
    edits: [{ find: 'before.get(place) ?? now', replace: 'now' }],
  },
  {
    id: 'answer-for-ever',
    breaks: 'An answer that its worker never reads is sent again for ever, and its letter is held.',
    file: 'src/fleet/orchestrator/brokered-call.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/fleet/orchestrator/brokered-call.test.ts'],
    edits: [{ find: ' || this.#refusals >= maxRefusals', replace: '' }],
  },
  {
    id: 'answer-lost-with-its-link',
    breaks: 'The answer of a call whose letter is over when its link ends is said to nobody.',
    file: 'src/fleet/orchestrator/broker-front.ts',
    foundBy: 'tests',
    promise: 'broker-once',
    tests: ['src/fleet/fleet.test.ts'],
    edits: [{ find: 'for (const call of this.#calls.all) call.goOnBy(link);', replace: '' }],
  },
  {
    id: 'superseded-letters-are-held',
    breaks:
      'Each letter that asks for a call once more takes a place at the orchestrator for ever.',
    file: 'src/fleet/orchestrator/brokered-call.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/fleet/orchestrator/brokered-call.test.ts'],
    edits: [{ find: 'earlier.ack();', replace: '' }],
  },
  {
    id: 'redelivery-is-a-second-letter',
    breaks: 'A letter that a NATS server hands out again takes a second place.',
    file: 'src/broker/nats/held-letters.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/broker/nats/held-letters.test.ts'],
    edits: [{ find: 'this.#deliveries.set(letter,', replace: 'this.#deliveries.set(ack,' }],
  },
  {
    id: 'deadline-of-the-last-tries',
    breaks: 'The deadline of tries that were refused for good ends those of a later call.',
    file: 'src/fleet/worker/reconnection.ts',
    foundBy: 'tests',
    promise: 'backoff',
    tests: ['src/fleet/worker/reconnection.test.ts'],
    edits: [
      {
        find: `[{ do: 'abandon' }, { do: 'fail', why: 'refused' }]`,
        replace: `[{ do: 'fail', why: 'refused' }]`,
      },
    ],
  },
  {
    id: 'always-the-first-wait',
    breaks: 'An orchestrator whose broker is away tries again twice a second for ever.',
    file: 'src/fleet/orchestrator/link-supervision.ts',
    foundBy: 'tests',
    promise: 'backoff',
    tests: ['src/fleet/orchestrator/link-supervision.test.ts'],
    edits: [{ find: 'failures: before + 1', replace: 'failures: 0 * before' }],
  },
  {
    id: 'tunnel-without-numbers',
    breaks: 'A message between replicas that was dropped shortens the text that they carry.',
    file: 'src/replicas/tunnel/tunnels.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/replicas/tunnel/tunnels.test.ts'],
    edits: [
      {
        find: `if (opened === 'gap') return void tunnel.destroy(gone());`,
        replace: `if (opened === 'gap') return;`,
      },
    ],
  },
  {
    id: 'session-of-another-replica',
    breaks: 'A session that another replica holds is begun a second time.',
    file: 'src/downstream/http/legacy/kept-sessions.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/replicas.test.ts'],
    edits: [{ find: `holder !== undefined && holder !== replica`, replace: `holder === ""` }],
  },
  {
    id: 'draining-keeps-new-work',
    breaks: 'A replica that shuts down keeps the new work that comes to it.',
    file: 'src/downstream/http/replicas/passing-on.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/replicas.test.ts'],
    edits: [
      { find: `this.#isEnding && !this.#isPassedOn(context);`, replace: `false && context;` },
    ],
  },
  {
    id: 'budget-of-others',
    breaks: 'A replica does not count what others have taken of a budget.',
    file: 'src/policy/role-budgets/account.ts',
    foundBy: 'tests',
    promise: 'shared-budgets',
    tests: ['src/policy/role-budgets/shared-count.test.ts'],
    edits: [{ find: `    this.#calls += others.calls;\n`, replace: '' }],
  },
  {
    id: 'key-of-another-replica',
    breaks:
      'A call with a key that another replica is working on is said to have an unknown outcome.',
    file: 'src/policy/keyed-wait.ts',
    foundBy: 'tests',
    promise: 'shared-keys',
    tests: ['src/policy/shared-keys.test.ts'],
    edits: [{ find: `if (begun.at === holders.id) {`, replace: `if (begun.at !== '') {` }],
  },
  {
    id: 'unsaved-outcome',
    breaks: 'An outcome that could not be stored at first is never stored.',
    file: 'src/policy/keyed-records.ts',
    foundBy: 'tests',
    promise: 'shared-keys',
    tests: ['src/policy/shared-keys.test.ts'],
    edits: [
      {
        find: `if (reason === 'closed' || !this.#later.add(again, over)) over();`,
        replace: `over();`,
      },
    ],
  },
  {
    id: 'unfreed-key',
    breaks: 'A key that a replica could not free is waited for at the others, as if its call ran.',
    file: 'src/policy/key-claims.ts',
    foundBy: 'tests',
    promise: 'shared-keys',
    tests: ['src/policy/shared-keys.test.ts'],
    edits: [{ find: `this.#states.set(claim, 'idle');\n    try {`, replace: `try {` }],
  },
  {
    id: 'unacknowledged-claim',
    breaks: 'A claim that was stored, but not acknowledged, is not read back.',
    file: 'src/policy/key-claims.ts',
    foundBy: 'tests',
    promise: 'shared-keys',
    tests: ['src/policy/shared-keys.test.ts'],
    edits: [
      {
        find: `if (isOf(entry, claim)) return { isPut: true, version: entry.version };`,
        replace: ``,
      },
    ],
  },
  {
    id: 'withdrawn-from-another',
    breaks: 'A replica that withdraws its claim takes the key from the one that has it by then.',
    file: 'src/policy/key-claims.ts',
    foundBy: 'tests',
    promise: 'shared-keys',
    tests: ['src/policy/shared-keys.test.ts'],
    edits: [
      {
        find: `if (!isOf(entry, claim)) return false;`,
        replace: `if (entry === undefined) return false;`,
      },
    ],
  },
  {
    id: 'no-time-for-a-key',
    breaks: 'A call waits for the same call of another replica although its own time is over.',
    file: 'src/policy/keyed-wait.ts',
    foundBy: 'tests',
    promise: 'shared-keys',
    tests: ['src/policy/shared-keys.test.ts'],
    edits: [{ find: `clock.now() + withinMs`, replace: `clock.now() + longestMs` }],
  },
  {
    id: 'run-elsewhere-unsent',
    breaks: 'A caller that leaves while another replica has its call is told that it was not sent.',
    file: 'src/policy/idempotency.ts',
    foundBy: 'tests',
    promise: 'shared-keys',
    tests: ['src/policy/shared-keys.test.ts'],
    edits: [{ find: `run.isElsewhere ||`, replace: `` }],
  },
  {
    id: 'forged-claim-answer',
    breaks: 'Whoever uses the NATS server can tell a replica that a key is free.',
    file: 'src/replicas/claim-questions.ts',
    foundBy: 'tests',
    promise: 'shared-keys',
    tests: ['src/replicas/claim-questions.test.ts'],
    edits: [
      {
        find: `if (said !== undefined) return said;`,
        replace: `return said ?? 'idle';`,
      },
    ],
  },
  {
    id: 'everybody-fetches',
    breaks: 'Each replica fetches a public result for itself.',
    file: 'src/cache/shared-results.ts',
    foundBy: 'tests',
    promise: 'shared-cache',
    tests: ['src/cache/shared-results.test.ts'],
    edits: [{ find: `const there = inEpoch(stored, epoch);`, replace: `const there = undefined;` }],
  },
  {
    id: 'clock-of-a-replica',
    breaks: 'A shared result has all of its time again at each replica that takes it.',
    file: 'src/cache/shared-results.ts',
    foundBy: 'tests',
    promise: 'shared-cache',
    tests: ['src/cache/shared-results.test.ts'],
    edits: [{ find: `Math.min(whole, entry.leftMs ?? whole)`, replace: `whole` }],
  },
  {
    id: 'unsaid-epoch',
    breaks:
      'An invalidation that the store refused is stored only when somebody asks for a result.',
    file: 'src/cache/shared-epochs.ts',
    foundBy: 'tests',
    promise: 'shared-cache',
    tests: ['src/cache/shared-results.test.ts'],
    edits: [{ find: `if (change.kind === 'gap') this.#sayAll();`, replace: `` }],
  },
  {
    id: 'refused-letter-runs',
    breaks: 'A letter that was refused because too many ran is run when it comes again.',
    file: 'src/fleet/orchestrator/broker-front.ts',
    foundBy: 'tests',
    promise: 'broker-once',
    tests: ['src/fleet/orchestrator/refused-requests.test.ts'],
    edits: [{ find: `if (call.isKept) this.#calls.refused(call);`, replace: '' }],
  },
  {
    id: 'endless-end',
    breaks: 'The end of a store waits for a disk that hangs.',
    file: 'src/store/pending-changes.ts',
    foundBy: 'tests',
    promise: 'stop-ladder',
    tests: ['src/store/file-store.test.ts'],
    edits: [{ find: `within(this.#parts.clock, endMs, writing)`, replace: `writing` }],
  },
  {
    id: 'endless-pulls',
    breaks: 'A part of an answer is sent as often as a worker asks for it.',
    file: 'src/fleet/orchestrator/pulled-parts.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/fleet/orchestrator/pulled-parts.test.ts'],
    edits: [{ find: `if (next.times > mostTimes) return false;`, replace: `` }],
  },
  {
    id: 'any-bytes-run',
    breaks: 'One worker may have any number of bytes in requests that run.',
    file: 'src/fleet/orchestrator/call-book.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/fleet/orchestrator/call-book.test.ts'],
    edits: [{ find: `bytes + call.requestBytes > runningBytesOfWorker`, replace: `false` }],
  },
  {
    id: 'short-call-ids',
    breaks: 'A call id is forgotten while its answer may still be asked for.',
    file: 'src/fleet/call-ids.ts',
    foundBy: 'tests',
    promise: 'broker-once',
    tests: ['src/fleet/call-ids.test.ts'],
    edits: [{ find: `ttlMs + replyMs + marginMs`, replace: `ttlMs` }],
  },
  {
    id: 'credential-in-clear',
    breaks: 'A credential is sent to another machine in clear.',
    file: 'src/broker/broker-address.ts',
    foundBy: 'tests',
    promise: 'broker-identity',
    tests: ['src/broker/broker-address.test.ts'],
    edits: [{ find: `isBare && !isLoopback(parsed.hostname)`, replace: `false` }],
  },
  {
    id: 'late-epoch',
    breaks: 'A result is shared although an invalidation has begun since it was asked for.',
    file: 'src/cache/shared-epochs.ts',
    foundBy: 'tests',
    promise: 'shared-cache',
    tests: ['src/cache/shared-results.test.ts'],
    edits: [{ find: `|| begun !== this.#begun`, replace: `` }],
  },
  {
    id: 'split-session',
    breaks:
      'A replica goes on with a session that another one has taken over while it was cut off.',
    file: 'src/downstream/http/legacy/doubted-sessions.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/replicas.test.ts'],
    edits: [
      {
        find: `return this.#known.get(session) !== this.#doubts;`,
        replace: `return false && session.isClosed;`,
      },
    ],
  },
  {
    id: 'one-senders-window',
    breaks: 'A sender that has its share of the window holds up the letters of others.',
    file: 'src/broker/hub/waiting-letters.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/broker/hub/waiting-letters.test.ts'],
    edits: [
      {
        find: `while (handFrom(this.#line, hand) === 'share') this.#withholdFirst();`,
        replace: `handFrom(this.#line, hand);`,
      },
    ],
  },
  {
    id: 'any-bytes-wait',
    breaks: 'Any number of bytes of answers may wait for the disk.',
    file: 'src/policy/waiting-answers.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/policy/keyed-records.test.ts'],
    edits: [{ find: `if (!isFirst && !fits) return false;`, replace: `` }],
  },
  {
    id: 'tunnel-of-a-dead-end',
    breaks: 'A tunnel whose other end has lost the bus for a moment hangs for ever.',
    file: 'src/replicas/tunnel/peers-life.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/replicas/tunnel/tunnels.test.ts'],
    edits: [
      { find: `if (unknown.length > 0) forgotten(`, replace: `if (peer.late > 9) forgotten(` },
    ],
  },
  {
    id: 'life-answer-of-anybody',
    breaks: 'Whoever can write to the bus ends tunnels by an answer that he makes up.',
    file: 'src/replicas/tunnel/life-words.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/replicas/tunnel/life-words.test.ts'],
    edits: [
      {
        find: `return isProof(secret, answerWords(question, unknown), proof) ? unknown : [];`,
        replace: `return unknown;`,
      },
    ],
  },
  {
    id: 'resumed-call-is-new-work',
    breaks:
      'A client that comes back for the answer to a call is sent to another replica while the one that runs it shuts down.',
    file: 'src/downstream/http/replicas/carried.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/moved-sessions.test.ts'],
    edits: [
      {
        find: `if (head.method === 'GET') return !resumesAnswer(head);`,
        replace: `if (head.method === 'GET') return true;`,
      },
    ],
  },
  {
    id: 'told-to-call-again',
    breaks: 'A client whose answer is lost is told to send the call again, which may have run.',
    file: 'src/downstream/http/legacy/legacy-endpoint.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/moved-sessions.test.ts'],
    edits: [
      {
        find: `so it is not known what came of its request; check before you send it again`,
        replace: `so send the request again`,
      },
    ],
  },
  {
    id: 'passed-on-calls-cut',
    breaks: 'A replica that shuts down cuts the calls that it has passed on to others.',
    file: 'src/downstream/http/listener.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/under-way.test.ts'],
    edits: [{ find: `await this.#passing.drain(passedOnMs);`, replace: `void passedOnMs;` }],
  },
  {
    id: 'former-holder-forgotten',
    breaks: 'Answers and cancellations for calls at the replica that had the session are lost.',
    file: 'src/downstream/http/legacy/sessions.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/moved-sessions.test.ts'],
    edits: [{ find: `session.former = from;`, replace: `` }],
  },
  {
    id: 'absent-after-a-return',
    breaks: 'A replica that is about to come back to the bus is taken for gone.',
    file: 'src/replicas/tunnel/tunnels.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/moved-sessions.test.ts'],
    edits: [
      {
        find: `return connected === 'absent' && this.#isJustBack ? 'unknown' : connected;`,
        replace: `return connected;`,
      },
    ],
  },
  {
    id: 'unknown-is-gone',
    breaks: 'A replica that cannot be reached now is taken for gone, and what it has for lost.',
    file: 'src/downstream/http/replicas/passing-on.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/moved-sessions.test.ts'],
    edits: [
      {
        find: `connected.connection.destroyed) return 'unknown';`,
        replace: `connected.connection.destroyed) return 'gone';`,
      },
    ],
  },
  {
    id: 'lost-session-cancels',
    breaks: 'A replica that learns that another has its session cancels the calls that run.',
    file: 'src/downstream/http/legacy/sessions.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/moved-sessions.test.ts'],
    edits: [
      {
        find: `if (this.#doubted === undefined) this.#close(session);`,
        replace: `if (this.#doubted !== undefined) this.#close(session);`,
      },
    ],
  },
  {
    id: 'expired-record-ends-session',
    breaks: 'A session in use ends because its record could not be renewed for long.',
    file: 'src/downstream/http/legacy/kept-sessions.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/legacy/kept-sessions.test.ts'],
    edits: [
      {
        find: `return clock.now() - at >= idleMs * slack;`,
        replace: `return clock.now() - at < idleMs * 0;`,
      },
    ],
  },
  {
    id: 'answered-before-stored',
    breaks: 'A session is given out before another replica can find it.',
    file: 'src/downstream/http/legacy/kept-sessions.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/legacy/kept-sessions.test.ts'],
    edits: [
      {
        find: `replica === undefined || areNearby ? ownMs : sharedKeepMs`,
        replace: `replica === undefined || areNearby ? ownMs : keepMs`,
      },
    ],
  },
  {
    id: 'tunnel-in-clear',
    breaks: 'Whoever reads the bus reads what replicas pass on to each other.',
    file: 'src/replicas/tunnel/sealed-frames.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/replicas/tunnel/tunnels.test.ts', 'src/replicas/tunnel/sealed-frames.test.ts'],
    edits: [
      {
        find: `const body = [cipher.update(frame), cipher.final()];`,
        replace: `cipher.setAAD(frame); const body = [frame, cipher.final()];`,
      },
      {
        find: `const body = decipher.update(bytes.subarray(numberBytes, -tagBytes));`,
        replace: `const body = bytes.subarray(numberBytes, -tagBytes); decipher.setAAD(body);`,
      },
    ],
  },
  {
    id: 'any-number-of-tunnels',
    breaks: 'Another replica may open any number of tunnels.',
    file: 'src/replicas/tunnel/tunnels.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/replicas/tunnel/tunnels.test.ts'],
    edits: [{ find: `if (this.#open.size >= maxTunnels) return answer(refused);`, replace: `` }],
  },
  {
    id: 'any-number-of-early-frames',
    breaks: 'Any number of messages is kept for a tunnel that is not answered yet.',
    file: 'src/replicas/tunnel/tunnels.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/replicas/tunnel/tunnels.test.ts'],
    edits: [{ find: `else if (open.early.length < maxEarly) open`, replace: `else open` }],
  },
  {
    id: 'store-away-refuses',
    breaks: 'Sessions of a replica are refused while only its store is away.',
    file: 'src/downstream/http/legacy/doubted-sessions.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/moved-sessions.test.ts'],
    edits: [
      {
        find: `return found === 'unavailable' && !isTold && !session.isClosed ? session : found;`,
        replace: `return found;`,
      },
    ],
  },
  {
    id: 'one-frozen-replica',
    breaks: 'A replica that stands still keeps new work from the others.',
    file: 'src/downstream/http/replicas/passing-on.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/moved-sessions.test.ts'],
    edits: [{ find: `if (connection === 'late') continue;`, replace: `` }],
  },
  {
    id: 'unheard-takeover',
    breaks:
      'A replica is not told that its session was taken over, if the store had not confirmed it.',
    file: 'src/downstream/http/legacy/sessions.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/moved-sessions.test.ts'],
    edits: [{ find: `this.#edge.peers?.tookFrom(from);`, replace: `` }],
  },
  {
    id: 'batch-is-no-work',
    breaks: 'A replica that shuts down keeps the batches that come to it.',
    file: 'src/downstream/http/replicas/carried.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/under-way.test.ts'],
    edits: [
      {
        find: `return requestsIn(carried).length > 0;`,
        replace: `return requestsIn(carried).length > 0 && !carried.isBatch;`,
      },
    ],
  },
  {
    id: 'lost-batch-answered-once',
    breaks: 'Of a batch that was lost, one request is answered.',
    file: 'src/downstream/http/replicas/forward.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['src/downstream/http/replicas/under-way.test.ts'],
    edits: [{ find: `carried.isBatch ? listOf(frames) : first`, replace: `first` }],
  },
  {
    id: 'handed-again',
    breaks:
      'A link that asks once more for a kind of mail is sent again all that it has not acknowledged.',
    file: 'src/broker/hub/shelf.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/broker/socket/hub-socket.test.ts'],
    edits: [
      {
        find: `if (this.#readings.has(reader.seat)) return;`,
        replace: `this.leave(reader.seat);`,
      },
    ],
  },
  {
    id: 'all-of-a-chunk',
    breaks: 'What was read from a link already is taken although it does not read its answers.',
    file: 'src/broker/socket/link-intake.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/broker/socket/hub-socket.test.ts'],
    edits: [
      { find: `this.#queue.length > 0 && this.#mayTake()`, replace: `this.#queue.length > 0` },
    ],
  },
  {
    id: 'refused-for-ever',
    breaks: 'A connection whose upgrade was refused stays open as long as its other side likes.',
    file: 'src/broker/socket/hub-server.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['src/broker/socket/hub-server.test.ts'],
    edits: [
      {
        find: `socket.once('finish', () => socket.destroy());`,
        replace: ``,
      },
      {
        find: `clock.after(refuseMs, () => socket.destroy(), true)`,
        replace: `clock.after(refuseMs, () => {}, true)`,
      },
    ],
  },
  {
    id: 'one-has-all-links',
    breaks: 'Links that one credential opens and never uses take every place.',
    file: 'src/broker/socket/link-places.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/broker/socket/link-places.test.ts'],
    edits: [
      {
        find: `return links < maxSeats + moreThanSeats && links < timesLeft * left;`,
        replace: `return left > 0;`,
      },
    ],
  },
  {
    id: 'old-credential-runs',
    breaks:
      'What a revoked credential has asked for runs with its role once the same name has another one.',
    file: 'src/broker/hub/hub.ts',
    foundBy: 'tests',
    promise: 'revoked',
    tests: ['src/broker/hub/hub.test.ts'],
    edits: [
      {
        find: `return isAnother(owner, credential);`,
        replace: `return isAnother(owner, credential) && owner.role === null;`,
      },
    ],
  },
  {
    id: 'unread-is-revoked',
    breaks:
      'A broker that starts while credentials cannot be read deletes the letters of their workers.',
    file: 'src/broker/hub/hub.ts',
    foundBy: 'tests',
    promise: 'broker-durable',
    tests: ['src/broker/hub/hub.test.ts'],
    edits: [
      {
        find: 'if (owner === undefined) return !this.#isUncertain(worker);',
        replace: 'if (owner === undefined) return true;',
      },
    ],
  },
  {
    id: 'damaged-file-closes-strangers',
    breaks:
      'A damaged credential in the folder of a broker keeps everybody from showing theirs in time.',
    file: 'src/cli/followed-credentials.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/cli/followed-credentials.test.ts'],
    edits: [
      { find: 'if (!isWhole && shortage.isNow) makeRoom();', replace: 'if (!isWhole) makeRoom();' },
    ],
  },
  {
    id: 'processes-share-an-answer',
    breaks: 'The answer to a call that two processes of a worker ask for goes to one of them.',
    file: 'src/fleet/orchestrator/broker-front.ts',
    foundBy: 'tests',
    promise: 'broker-once',
    tests: ['src/fleet/orchestrator/forged-letters.test.ts'],
    edits: [{ find: ` \${credential} \${seat} \${id}`, replace: ` \${credential} \${id}` }],
  },
  {
    id: 'letters-of-other-seats',
    breaks: 'What a process sends is taken for a letter of another process of its worker.',
    file: 'src/broker/hub/shelf.ts',
    foundBy: 'tests',
    promise: 'broker-durable',
    tests: ['src/broker/socket/socket-broker.test.ts'],
    edits: [
      {
        find: `\${from.seat} \${seat ?? ''} \${id}`,
        replace: `\${id}`,
      },
    ],
  },
  {
    id: 'nats-letters-of-other-seats',
    breaks: 'A NATS server takes the answer for a process for that of another, and drops it.',
    file: 'src/broker/nats/letter-message.ts',
    foundBy: 'tests',
    promise: 'broker-durable',
    tests: ['src/broker/nats/letter-message.test.ts'],
    edits: [{ find: '[sender, to, seat, kind, id]', replace: '[to, kind, id]' }],
  },
  {
    id: 'asked-again-by-the-same-letter',
    breaks:
      'Who asks for an answer once more sends the letter that was answered, which a broker drops.',
    file: 'src/fleet/worker/channel.ts',
    foundBy: 'tests',
    promise: 'broker-once',
    tests: ['src/fleet/worker/late-requests.test.ts'],
    edits: [{ find: 'call.letterId = againLetterId(this.#newLetterId(call.id));', replace: '' }],
  },
  {
    id: 'answers-for-the-dead',
    breaks: 'Answers for processes that are gone fill the mailbox of a worker on NATS for a week.',
    file: 'src/broker/nats/jet-stream.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['test/integration/nats-kept-time.test.ts'],
    edits: [
      {
        find: `if (isWithin(found['max_age'], max_age)) return found;`,
        replace: 'if (max_age > 0) return { ...found, max_age };',
      },
    ],
  },
  {
    id: 'earlier-streams-one-by-one',
    breaks:
      'An orchestrator cannot open a link where an earlier Holdfast has made its streams on NATS.',
    file: 'src/broker/nats/mail-streams.ts',
    foundBy: 'tests',
    promise: 'broker-durable',
    tests: ['test/integration/nats-earlier-streams.test.ts'],
    edits: [
      {
        find: 'await jetStream.updateStream(mailStream(kind), { ...config, subjects });',
        replace: 'if (subjects.length > 1) await jetStream.updateStream(kind, config);',
      },
    ],
  },
  {
    id: 'two-stores',
    breaks: 'Two gateways with one name at a broker and a database each take letters in turn.',
    file: 'src/broker/store-claim.ts',
    foundBy: 'tests',
    promise: 'broker-once',
    tests: ['src/broker/hub/hub.test.ts'],
    edits: [{ find: 'return now - claim.seenAt >= storeAwayMs;', replace: 'return now >= 0;' }],
  },
  {
    id: 'claim-ends-with-the-link',
    breaks:
      'A gateway with a store of its own gets the letters of one whose link is away for a moment.',
    file: 'src/broker/hub/mailbox-stores.ts',
    foundBy: 'tests',
    promise: 'broker-once',
    tests: ['src/broker/hub/hub.test.ts'],
    edits: [{ find: 'claim.seenAt = this.#now();', replace: 'this.#claims.delete(mailbox);' }],
  },
  {
    id: 'long-headers-for-nothing',
    breaks: 'A worker keeps a broker busy with frames whose headers are very long.',
    file: 'src/broker/socket/frame-rate.ts',
    foundBy: 'tests',
    promise: 'principal-share',
    tests: ['src/broker/socket/frame-rate.test.ts'],
    edits: [
      {
        find: `return this.#count(1 + Math.floor(beyond / pieceBytes));`,
        replace: `return this.#count(1 + 0 * beyond * pieceBytes);`,
      },
    ],
  },
  {
    id: 'nats-tried-for-ever',
    breaks:
      'A connection of the store that is lost as soon as it is up is tried four times a second.',
    file: 'src/store/nats/connection-machine.ts',
    foundBy: 'tests',
    promise: 'store-nats',
    tests: ['src/store/nats/connection-machine.test.ts'],
    edits: [
      {
        find: "const isSteady = state.kind === 'up' && at - state.since >= steadyMs;",
        replace: "const isSteady = state.kind === 'up' && at - state.since >= steadyMs * 0;",
      },
    ],
  },
  {
    id: 'short-stream-looks-whole',
    breaks:
      'A stream that has lost what it had acknowledged counts as whole once it is written to.',
    file: 'src/store/nats/stream-past.ts',
    foundBy: 'tests',
    promise: 'store-nats',
    tests: ['src/store/nats/stream-past.test.ts'],
    edits: [{ find: 'this.#isShort = true;', replace: 'this.#isShort = last < 0;' }],
  },
  {
    id: 'erased-in-the-next-stream',
    breaks: 'What is to be erased is erased by its number in a stream that was made anew.',
    file: 'src/store/nats/kept-stream.ts',
    foundBy: 'tests',
    promise: 'durable',
    tests: ['test/integration/nats-streams.test.ts'],
    edits: [
      {
        find: 'if (incarnation === open.incarnation) await eraseOne(open, sequence);',
        replace: 'if (incarnation !== sequence.toString()) await eraseOne(open, sequence);',
      },
    ],
  },
  {
    id: 'stream-of-another-namespace',
    breaks: 'Two namespaces on one NATS server have streams of the same name.',
    file: 'src/store/nats/stream-names.ts',
    foundBy: 'tests',
    promise: 'store-nats',
    tests: ['test/integration/nats-streams.test.ts'],
    edits: [
      {
        find: `\`hf_\${namespace}_\${word}_\${name}\``,
        replace: `\`hf-\${namespace}-\${word}-\${name}\``,
      },
    ],
  },
  {
    id: 'refused-subjects-of-replicas',
    breaks: 'Nobody is told that replicas may not use the subjects by which they reach each other.',
    file: 'src/replicas/nats-bus.ts',
    foundBy: 'tests',
    promise: 'replicas',
    tests: ['test/integration/replica-tunnels.test.ts'],
    edits: [{ find: 'this.#probe(session).catch(this.#parts.caught);', replace: '' }],
  },
  {
    id: 'damaged-counts-are-silent',
    breaks:
      'A count on a NATS server that somebody has overwritten is not used, and nobody is told.',
    file: 'src/store/nats/cells.ts',
    foundBy: 'tests',
    promise: 'store-nats',
    tests: ['test/integration/nats-store-faults.test.ts'],
    edits: [{ find: 'if (isDamaged && error.cause === undefined) tell.damaged();', replace: '' }],
  },
  {
    id: 'full-stream-read-by-each',
    breaks: 'Everyone who is refused because a stream on NATS is full reads all of it.',
    file: 'src/store/nats/cell-room.ts',
    foundBy: 'tests',
    promise: 'no-growth',
    tests: ['test/integration/nats-streams.test.ts'],
    edits: [
      {
        find: 'this.#counting ??= this.#count()',
        replace: 'this.#counting = this.#count()',
      },
    ],
  },
  {
    id: 'lost-with-its-orchestrator',
    breaks:
      'A worker waits for an hour for a call whose orchestrator was killed when its letter was over.',
    file: 'src/fleet/worker/channel.ts',
    foundBy: 'tests',
    promise: 'broker-once',
    tests: ['src/fleet/worker/late-requests.test.ts'],
    edits: [{ find: `if (come === 'process') this.#doubtful.doubt();`, replace: '' }],
  },
  {
    id: 'asked-again-runs-again',
    breaks: 'Who asks for the outcome of a call of which nothing is known any more runs it again.',
    file: 'src/policy/idempotency.ts',
    foundBy: 'tests',
    promise: 'broker-once',
    tests: ['src/policy/idempotency.test.ts'],
    edits: [{ find: 'caller?.isAgain ?', replace: 'caller?.isAgain && keptMs < 0 ?' }],
  },
  {
    id: 'fence-before-ready',
    breaks:
      'A rollout draws its fence as soon as the successor is started, and not when it is ready.',
    file: 'src/rollout/rollout-machine.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/rollout/rollout-machine.test.ts'],
    edits: [
      {
        find: `[{ kind: 'start', run: number, lost: null }],`,
        replace: `[{ kind: 'start', run: number, lost: null }, { kind: 'fence', run: number }],`,
      },
    ],
  },
  {
    id: 'fence-said-once',
    breaks: 'What was said since the fence is told to the first successor only, which may be lost.',
    file: 'src/rollout/hand-over-link.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/rollout/hand-over-link.test.ts'],
    edits: [
      {
        find: 'if (!this.#isTaken) this.#keep({ kind, head, payload });',
        replace: 'if (this.#link === undefined) this.#keep({ kind, head, payload });',
      },
    ],
  },
  {
    id: 'server-used-too-early',
    breaks:
      'A successor uses the servers before it has taken over: what it has read is lost with it.',
    file: 'src/host/servers/open-connection.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/host/handover/hand-over.test.ts'],
    edits: [{ find: '    await mayBegin;\n', replace: '' }],
  },
  {
    id: 'idle-beside-the-former',
    breaks:
      'A server that only calls of the former process use is idle at its successor, and is closed.',
    file: 'src/host/handover/held-for-former.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/host/handover/former-host.test.ts'],
    edits: [
      {
        find: 'if (isHeld) leases.hold();',
        replace: 'if (isHeld) return;',
      },
    ],
  },
  {
    id: 'unwatched-by-the-former',
    breaks:
      'A former process that ends takes the subscriptions of its successor at a legacy server with it.',
    file: 'src/host/connections/subscriptions.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/host/handover/clients-handed-over.test.ts'],
    edits: [
      {
        find: 'if (!connection || connection === this.#given) return;',
        replace: 'if (!connection) return;',
      },
    ],
  },
  {
    id: 'waiting-client-unknown',
    breaks:
      'Clients whose calls wait at the fence are not known to have used the connection: another one hears what is theirs.',
    file: 'src/host/connections/connection-slot.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/host/handover/clients-handed-over.test.ts'],
    edits: [
      {
        find: 'const clients = new Set([...first, ...this.#callers.map(({ client }) => client.key)]);',
        replace: 'const clients = new Set(first);',
      },
    ],
  },
  {
    id: 'answer-to-a-taken-socket',
    breaks:
      'An answer that comes while the connection of a window is taken is written to what has no handle any more.',
    file: 'src/downstream/stdio/stdio-output.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/downstream/stdio/socket-clients.test.ts'],
    edits: [{ find: 'if (this.#later) return void this.#later.push(frame);', replace: '' }],
  },
  {
    id: 'unread-bytes-dropped',
    breaks: 'What was read of a client on stdio and not handled does not go along in a rollout.',
    file: 'src/downstream/stdio/stdio-front.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/downstream/stdio/hand-over.test.ts'],
    edits: [
      {
        find: 'const unread = Buffer.concat([this.#reader.takeHeld(), ...this.#unread, rest.bytes]);',
        replace: 'const unread = Buffer.concat([...this.#unread, rest.bytes]);',
      },
    ],
  },
  {
    id: 'answer-overtakes-messages',
    breaks:
      'Of what comes from another process in one turn, an answer is heard before the messages that were sent before it: a connection that has delivered everything is taken for lost.',
    file: 'src/replicas/neighbour-bus.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/replicas/neighbour-bus.test.ts', 'src/cli/gateway/neighbours.test.ts'],
    edits: [
      {
        find: 'setImmediate(() => {\n          if (answer',
        replace: 'queueMicrotask(() => {\n          if (answer',
      },
    ],
  },
  {
    id: 'former-ends-with-tunnels',
    breaks:
      'A process that was replaced ends while others still use connections that go through it.',
    file: 'src/cli/gateway/rollout/succession.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/cli/gateway/rollout/succession.test.ts'],
    edits: [{ find: '.then(() => Promise.all(given.map(({ last }) => last?.())))', replace: '' }],
  },
  {
    id: 'session-budget-anew',
    breaks: 'What a session has spent of a budget that ends with it is spent anew after a rollout.',
    file: 'src/policy/role-budgets/session-accounts.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/policy/role-budgets/handed-counts.test.ts'],
    edits: [{ find: 'sendCounts(link, counts, kind);', replace: '' }],
  },
  {
    id: 'formers-not-heard',
    breaks:
      'How many former processes there are is told to a process before it listens, and it does not know: one rollout too many fails instead of waiting.',
    file: 'src/rollout/holder-client.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/rollout/holder-client.test.ts'],
    edits: [{ find: 'this.#formers = told.count;', replace: '' }],
  },
  {
    id: 'holder-forgotten',
    breaks:
      'A record that could not be written after a rollout names a host that is gone: the next rollout ends the servers.',
    file: 'src/supervise/process/end/orphan-sweep.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/supervise/process/end/orphan-sweep.test.ts'],
    edits: [
      {
        find: 'return holder !== undefined && holder.pid !== by.holder && (await lives(holder));',
        replace: 'return false;',
      },
    ],
  },
  {
    id: 'servers-of-a-lost-former',
    breaks: 'The servers of a former process that was killed run on until the instance ends.',
    file: 'src/rollout/holder/kept-children.ts',
    foundBy: 'tests',
    promise: 'no-orphans',
    tests: ['src/rollout/holder/kept-children.test.ts'],
    edits: [{ find: 'if (kept.exit === null) endGroup(kept.pid);', replace: '' }],
  },
  {
    id: 'hangup-too-early',
    breaks: 'A SIGHUP that comes while a successor begins to serve ends the gateway.',
    file: 'src/cli/interrupt.ts',
    foundBy: 'tests',
    promise: 'pid-holder',
    tests: ['src/cli/interrupt.test.ts'],
    edits: [
      {
        find: 'if (this.#hangup === undefined) this.#hasHungUp = true;',
        replace: `if (this.#hangup === undefined) this.#came(from, 'SIGHUP');`,
      },
    ],
  },
  {
    id: 'ids-anew-after-a-rollout',
    breaks:
      'After a rollout the ids of requests begin where those of the rollout before have begun.',
    file: 'src/upstream/handed-connection.ts',
    foundBy: 'simulation',
    promise: 'rollout',
    edits: [{ find: 'return nextId + idsOfFormer;', replace: 'return 1 + idsOfFormer;' }],
  },
  {
    id: 'breaker-anew-after-a-rollout',
    breaks: 'The breaker of a server is closed after a rollout, whatever it was.',
    file: 'src/supervise/standing.ts',
    foundBy: 'simulation',
    promise: 'rollout',
    edits: [{ find: 'this.breaker.restore(breaker);', replace: 'void breaker;' }],
  },
  {
    id: 'restart-budget-anew-after-a-rollout',
    breaks: 'What a server has spent of its restart budget is forgotten in a rollout.',
    file: 'src/supervise/handed-supervision.ts',
    foundBy: 'simulation',
    promise: 'restart-budget',
    edits: [
      {
        find: 'failures: handed.failedAgoMs.map((ms) => now - ms),',
        replace: 'failures: [],',
      },
    ],
  },
  {
    id: 'fence-time-not-counted',
    breaks:
      'The time between the writing of the state and its use is not counted: failures stay young, and cached results hold longer.',
    file: 'src/host/handover/aged-state.ts',
    foundBy: 'simulation',
    promise: 'rollout',
    rules: ['restart-budget', 'cache-rules'],
    edits: [{ find: 'if (ms <= 0)', replace: 'if (ms >= 0)' }],
  },
  {
    id: 'generation-anew-after-a-rollout',
    breaks: 'The generations of a server begin anew after a rollout.',
    file: 'src/supervise/standing.ts',
    foundBy: 'simulation',
    promise: 'generations',
    edits: [
      {
        find: 'this.generation = Math.max(this.generation, generation);',
        replace: 'void generation;',
      },
    ],
  },
  {
    id: 'late-answers-lost-in-a-rollout',
    breaks: 'The next process drops the answers to calls of the process before.',
    file: 'src/upstream/former-messages.ts',
    foundBy: 'simulation',
    promise: 'rollout',
    rules: ['one-answer'],
    edits: [{ find: 'contain(() => this.#former.heard(line), ignored);', replace: 'void line;' }],
  },
  {
    id: 'unread-bytes-lost-in-a-rollout',
    breaks: 'What was read of a server and not handled does not go along in a rollout.',
    file: 'src/upstream/stdio/handed-child.ts',
    foundBy: 'simulation',
    promise: 'rollout',
    rules: ['one-answer', 'right-answer', 'rollout'],
    edits: [
      {
        find: 'stdout.restore(state.stdout, unread);',
        replace: 'stdout.restore(state.stdout, unread.subarray(0, 0));',
      },
    ],
  },
  {
    id: 'cached-results-of-another-entry',
    breaks:
      'What was cached of a server goes along in a rollout although its entry in the config is another one.',
    file: 'src/host/servers/server.ts',
    foundBy: 'simulation',
    promise: 'cache-rules',
    edits: [
      {
        find: 'return spec === specHash && (results ?? resultsMark(this.config)) === resultsMark(this.config);',
        replace: 'return true;',
      },
    ],
  },
  {
    id: 'started-beside-a-handed-process',
    breaks:
      'A server that a config brings back is started while its process, which was handed over, is being ended.',
    file: 'src/host/servers/registry.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/host/handover/hand-over.test.ts'],
    edits: [{ find: 'if (ending !== undefined) server.waitFor(ending);', replace: '' }],
  },
  {
    id: 'answer-not-passed-on',
    breaks:
      'What a server answers to calls of the process before is read by the next one, and dropped.',
    file: 'src/upstream/former-messages.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/upstream/stdio/hand-over.test.ts'],
    edits: [{ find: 'this.heard(message.bytes);\n    return true;', replace: 'return true;' }],
  },
  {
    id: 'passed-connection-kept',
    breaks:
      'The pid-holder keeps a connection open that it has passed to a process which was killed before it took it.',
    file: 'src/rollout/holder/serving-process.ts',
    foundBy: 'tests',
    promise: 'pid-holder',
    tests: ['test/integration/holder-handles.test.ts'],
    edits: [{ find: 'for (const sent of this.#unsent) sent();', replace: '' }],
  },
  {
    id: 'busy-connection-given',
    breaks: 'A connection goes to the next process although a call on it is not answered yet.',
    file: 'src/downstream/http/rollout/former-front.ts',
    foundBy: 'tests',
    promise: 'rollout',
    tests: ['src/downstream/http/rollout/hand-over.test.ts'],
    edits: [
      { find: 'const isIdle = use?.open === 0', replace: 'const isIdle = true || use?.open === 0' },
    ],
  },
];
