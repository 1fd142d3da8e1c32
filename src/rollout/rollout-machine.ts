// A rollout as the incumbent sees it, as a pure state machine: when one is due, the steps of one, their limits, and
// what is told of it. At most one successor exists at a time: the next is started only after the last has taken over,
// which ends this process's part, or was abandoned, which is confirmed by the holder. The fence is drawn only for a
// successor that is ready. A failure before it leaves the incumbent serving, and is not repeated until the files change
// again or somebody asks. Behind it a successor that is lost is followed by another one that is given the same, a few
// times. conductor.ts carries the effects out.

import type {
  AbandonedOutcome,
  FilesState,
  PendingReason,
  RolloutCause,
  RolloutEffect,
  RolloutEvent,
  RolloutMachineState,
  RolloutOutcome,
  RolloutPolicy,
  Run,
} from './rollout-state.ts';

type Step = readonly [RolloutMachineState, readonly RolloutEffect[]];

/** `runs` and `failures` count those of former processes too. */
export function initialRollout({ runs = 0, failures = 0 } = {}): RolloutMachineState {
  return {
    phase: { kind: 'idle' },
    waiting: null,
    files: { kind: 'same' },
    failed: null,
    isServing: false,
    isEnding: false,
    formers: 0,
    runs,
    failures,
  };
}

export function rolloutStep(
  state: RolloutMachineState,
  event: RolloutEvent,
  policy: RolloutPolicy,
): Step {
  const [next, effects] = handled(state, event, policy);
  const [begun, further] = attempted(next, event.at, policy);
  return [begun, [...effects, ...further]];
}

/** When the next `tick` is due; undefined: nothing waits for time to pass. */
export function rolloutDeadline(
  { phase, waiting }: RolloutMachineState,
  { waitMs }: RolloutPolicy,
): number | undefined {
  const step = phase.kind === 'idle' || phase.kind === 'former' ? undefined : phase.run.until;
  const wait = waiting?.tickets.length ? waiting.since + waitMs : undefined;
  return step === undefined || wait === undefined ? (step ?? wait) : Math.min(step, wait);
}

function handled(state: RolloutMachineState, event: RolloutEvent, policy: RolloutPolicy): Step {
  switch (event.kind) {
    case 'asked':
      return asked(state, event.ticket, event.at);
    case 'files':
      return [{ ...state, files: event.files }, []];
    case 'serving':
      return [{ ...state, isServing: true }, []];
    case 'formers':
      return [{ ...state, formers: event.count }, []];
    case 'policy':
      return [state, []];
    case 'shutdown':
      return shutdown(state, event.at, policy);
    case 'ready':
      return ready(state, event.run, event.at, policy);
    case 'served':
      return state.phase.kind === 'fencing' && state.phase.run.number === event.run
        ? served(state, state.phase.run)
        : [state, []];
    case 'failed':
      return failed(state, event, policy);
    case 'abandoned':
      return abandoned(state, event, policy);
    case 'tick':
      return ticked(state, event.at, policy);
  }
}

/** With the same print the files are the same; those that cannot be read are taken for what they were. */
export function printOf(files: FilesState): string {
  return files.kind === 'changed' ? files.print : '';
}

function asked(state: RolloutMachineState, ticket: number | null, at: number): Step {
  const tickets = ticket === null ? [] : [ticket];
  const { phase, waiting } = state;
  if (state.isEnding) return [state, told(tickets, { kind: 'refused', why: 'shutdown' })];
  if (phase.kind === 'former') return [state, told(tickets, { kind: 'refused', why: 'former' })];
  const isRunning = phase.kind === 'starting' || phase.kind === 'fencing';
  const isSame =
    state.files.kind !== 'settling' && isRunning && phase.run.print === printOf(state.files);
  if (isSame) {
    const run = { ...phase.run, tickets: [...phase.run.tickets, ...tickets] };
    return [{ ...state, phase: { ...phase, run } }, []];
  }
  const all = [...(waiting?.tickets ?? []), ...tickets];
  // The wait of each begins with the first.
  const since = waiting !== null && waiting.tickets.length > 0 ? waiting.since : at;
  return [{ ...state, waiting: { isAsked: true, tickets: all, since } }, []];
}

/** Begins one if it is due and nothing is in its way. */
function attempted(state: RolloutMachineState, at: number, policy: RolloutPolicy): Step {
  const wanted = withFiles(state, at, policy);
  const { waiting } = wanted;
  if (waiting === null || obstacle(wanted, policy) !== undefined || wanted.isEnding) {
    return [wanted, []];
  }
  const number = wanted.runs + 1;
  const print = printOf(wanted.files);
  const { tickets } = waiting;
  const run = { number, print, tickets, since: at, until: at + policy.gateMs, lost: 0 };
  return [
    { ...wanted, waiting: null, runs: number, phase: { kind: 'starting', run } },
    [{ kind: 'start', run: number, lost: null }],
  ];
}

/** Files that have changed are a wish of their own, once for each change; one that is gone takes it back. */
function withFiles(state: RolloutMachineState, at: number, { isAuto }: RolloutPolicy) {
  const { waiting, phase, files, failed } = state;
  if (waiting?.isAsked || phase.kind === 'former' || state.isEnding) return state;
  const isTried = failed !== null && failed.print === printOf(files);
  const isRunning = phase.kind !== 'idle' && phase.run.print === printOf(files);
  const isDue = isAuto && files.kind === 'changed' && !isTried && !isRunning;
  if (isDue === (waiting !== null)) return state;
  return { ...state, waiting: isDue ? { isAsked: false, tickets: [], since: at } : null };
}

/** Why one that is wanted does not begin. */
export function obstacle(
  { phase, isServing, formers, files }: RolloutMachineState,
  { maxFormers }: RolloutPolicy,
): PendingReason | undefined {
  if (phase.kind !== 'idle') return 'running';
  if (!isServing) return 'starting';
  if (files.kind === 'settling') return 'settling';
  return formers >= maxFormers ? 'formers' : undefined;
}

function ready(
  state: RolloutMachineState,
  run: number,
  at: number,
  { handOverMs }: RolloutPolicy,
): Step {
  const { phase } = state;
  if (phase.kind !== 'starting' || phase.run.number !== run) return [state, []];
  const fenced = { ...phase.run, until: at + handOverMs };
  return [{ ...state, phase: { kind: 'fencing', run: fenced } }, [{ kind: 'fence', run }]];
}

function served(state: RolloutMachineState, { number, tickets, print }: Run): Step {
  const { waiting, isEnding, files } = state;
  const rest = waiting?.tickets ?? [];
  // What was asked for with files that came later is the successor's to do, if it was not started from them.
  const again = waiting?.isAsked === true && print !== printOf(files);
  return [
    { ...state, phase: { kind: 'former' }, waiting: null, failed: null },
    [
      { kind: 'passOn', run: number, again, shutdown: isEnding },
      ...told([...tickets, ...rest], { kind: 'rolled' }),
    ],
  ];
}

function failed(
  state: RolloutMachineState,
  { run, cause, at }: { readonly run: number; readonly cause: RolloutCause; readonly at: number },
  { abandonMs }: RolloutPolicy,
): Step {
  const { phase } = state;
  const isRunning = phase.kind === 'starting' || phase.kind === 'fencing';
  if (!isRunning || phase.run.number !== run) return [state, []];
  const isFenced = phase.kind === 'fencing' || phase.run.lost > 0;
  const until = { ...phase.run, until: at + abandonMs };
  return [
    { ...state, phase: { kind: 'abandoning', run: until, cause, isFenced } },
    [{ kind: 'abandon', run }],
  ];
}

interface Abandoned {
  readonly run: number;
  readonly outcome: AbandonedOutcome;
  readonly at: number;
}

function abandoned(
  state: RolloutMachineState,
  { run, outcome, at }: Abandoned,
  { gateMs, maxLost }: RolloutPolicy,
): Step {
  const { phase } = state;
  if (phase.kind !== 'abandoning' || phase.run.number !== run) return [state, []];
  // It has taken over in the moment in which it was given up.
  if (outcome === 'serving') return served(state, phase.run);
  const { cause } = phase;
  const { tickets, print, lost } = phase.run;
  if (outcome === 'handed' && lost < maxLost) {
    const again = { ...phase.run, lost: lost + 1, until: at + gateMs };
    return [
      { ...state, phase: { kind: 'starting', run: again } },
      [{ kind: 'start', run, lost: cause }],
    ];
  }
  const givenUp = outcome === 'handed' ? [{ kind: 'giveUp', run } as const] : [];
  return [
    {
      ...state,
      phase: { kind: 'idle' },
      failed: { cause, at, print },
      failures: state.failures + 1,
    },
    [...told(tickets, { kind: 'failed', cause, at }), ...givenUp],
  ];
}

function shutdown(state: RolloutMachineState, at: number, policy: RolloutPolicy): Step {
  if (state.isEnding) return [state, []];
  const refusal = told(state.waiting?.tickets ?? [], { kind: 'refused', why: 'shutdown' });
  const ending = { ...state, isEnding: true, waiting: null };
  const { phase } = state;
  // One that has the fence behind it goes on: the successor ends instead.
  if (phase.kind !== 'starting' || phase.run.lost > 0) return [ending, refusal];
  const cause = { reason: 'shutdown', detail: 'the instance is ending' } as const;
  const [next, effects] = failed(ending, { run: phase.run.number, cause, at }, policy);
  return [next, [...refusal, ...effects]];
}

function ticked(state: RolloutMachineState, at: number, policy: RolloutPolicy): Step {
  const [next, effects] = tickedWaiting(state, at, policy);
  const { phase } = next;
  if (phase.kind === 'idle' || phase.kind === 'former' || at < phase.run.until) {
    return [next, effects];
  }
  const run = phase.run.number;
  const [late, further] =
    phase.kind === 'abandoning'
      ? // The holder does not answer, or what is being handed over does not end: it must not hold up everything after it.
        abandoned(next, { run, at, outcome: phase.isFenced ? 'handed' : 'ended' }, policy)
      : failed(next, { run, cause: lateCause(phase.kind, policy), at }, policy);
  return [late, [...effects, ...further]];
}

function lateCause(kind: 'starting' | 'fencing', { gateMs, handOverMs }: RolloutPolicy) {
  const detail =
    kind === 'starting'
      ? `the new version was not ready within ${gateMs / 1_000} s`
      : `the new version did not take over within ${handOverMs / 1_000} s`;
  return { reason: 'late', detail } as const;
}

function tickedWaiting(state: RolloutMachineState, at: number, policy: RolloutPolicy): Step {
  const { waiting } = state;
  if (waiting === null || waiting.tickets.length === 0) return [state, []];
  if (at < waiting.since + policy.waitMs) return [state, []];
  const why = obstacle(state, policy) ?? 'running';
  return [
    { ...state, waiting: { ...waiting, tickets: [] } },
    told(waiting.tickets, { kind: 'pending', why }),
  ];
}

function told(tickets: readonly number[], outcome: RolloutOutcome): readonly RolloutEffect[] {
  return tickets.length === 0 ? [] : [{ kind: 'tell', tickets, outcome }];
}
