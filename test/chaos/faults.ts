// The faults that a call can order from the fixture, with what the ledger must show before one counts
// as having happened: a fault before the effect has happened when its call was received, one during
// the effect when it began, one on the answer when it was done. Planned is not happened.

import type { FaultKind, Misbehaviour } from '../fixtures/servers/faulty/misbehaviour.ts';
import type { Dice } from '../support/dice.ts';
import type { Phase } from '../support/ledger.ts';

export interface OrderedFault {
  readonly fault: Misbehaviour;
  readonly shows: Phase;
}

interface Row {
  readonly weight: number;
  readonly shows: Phase;
  readonly make: (dice: Dice) => Misbehaviour;
}

const signals = ['SIGKILL', 'SIGSEGV', 'SIGTERM', 'SIGABRT'] as const;

/** Half of the deaths are exits with one code or another, half are signals. */
function death(dice: Dice): { code: number } | { signal: NodeJS.Signals } {
  return dice.chance(0.5)
    ? { code: dice.pick([0, 1, 2, 78, 137, 255]) }
    : { signal: dice.pick(signals) };
}

function plain(kind: FaultKind, weight: number, shows: Phase): Row {
  return { weight, shows, make: () => ({ kind }) as Misbehaviour };
}

/** What every object inherits: no table of ours may know them. */
const inheritedNames = Object.getOwnPropertyNames(Object.prototype) as [string, ...string[]];

/** On any wire. */
const everywhere: readonly Row[] = [
  {
    weight: 4,
    shows: 'received',
    make: (dice) => ({
      kind: 'strange-notification',
      method: `${dice.pick(['', 'notifications/'])}${dice.pick(inheritedNames)}`,
    }),
  },
  {
    weight: 6,
    shows: 'received',
    make: (dice) => ({ kind: 'crash-before-effect', ...death(dice) }),
  },
  { weight: 6, shows: 'begin', make: (dice) => ({ kind: 'crash-mid-effect', ...death(dice) }) },
  { weight: 6, shows: 'done', make: (dice) => ({ kind: 'crash-after-effect', ...death(dice) }) },
  { weight: 3, shows: 'done', make: (dice) => ({ kind: 'crash-after-answer', ...death(dice) }) },
  plain('hang', 3, 'received'),
  { weight: 3, shows: 'done', make: () => ({ kind: 'hang', effect: true }) },
  { weight: 6, shows: 'received', make: (dice) => ({ kind: 'slow', ms: dice.between(50, 3000) }) },
  { weight: 6, shows: 'done', make: (dice) => ({ kind: 'late', ms: dice.between(50, 4000) }) },
  {
    weight: 4,
    shows: 'done',
    make: (dice) => ({
      kind: 'garbage',
      form: dice.pick(['text', 'result', 'invalid-utf8', 'bom', 'nul', 'array']),
      also: dice.chance(0.5),
    }),
  },
  {
    weight: 2,
    shows: 'done',
    make: (dice) => ({ kind: 'huge', bytes: 3 * 1024 * 1024, idLast: dice.chance(0.5) }),
  },
  plain('deep', 2, 'done'),
  {
    weight: 4,
    shows: 'done',
    make: (dice) => ({ kind: 'duplicate-id', ms: dice.pick([0, 5, 200]) }),
  },
  {
    weight: 4,
    shows: 'done',
    make: (dice) => ({
      kind: 'unknown-id',
      instead: dice.chance(0.4),
      id: dice.pick([1, 'never-asked', null]),
    }),
  },
  {
    weight: 4,
    shows: 'done',
    make: (dice) => ({
      kind: 'foreign-id',
      form: dice.pick(['string', 'null', 'padded', 'float']),
    }),
  },
  {
    weight: 3,
    shows: 'done',
    make: (dice) => ({ kind: 'wrong-version', version: dice.pick(['1.0', null]) }),
  },
  {
    weight: 3,
    shows: 'done',
    make: (dice) => ({ kind: 'drip', bytes: 16, ms: dice.between(5, 60) }),
  },
  {
    weight: 3,
    shows: 'received',
    make: (dice) => ({
      kind: 'stderr-flood',
      bytes: dice.between(10_000, 600_000),
      lineBytes: dice.pick([0, 100, 9000]),
      background: dice.chance(0.5),
    }),
  },
  {
    weight: 2,
    shows: 'received',
    make: (dice) => ({
      kind: 'changed-definition',
      // Not of one that only reads: what is safe by its hint is not safe any more when it has changed.
      of: dice.pick(['add', 'append']),
      undo: dice.chance(0.5),
      announce: dice.chance(0.5),
    }),
  },
  {
    weight: 1,
    shows: 'received',
    make: (dice) => ({ kind: 'endless-cursor', sameCursor: dice.chance(0.5) }),
  },
];

const ofProcesses: readonly Row[] = [
  ...everywhere,
  plain('freeze', 1, 'received'),
  {
    weight: 2,
    shows: 'done',
    make: (dice) => ({ kind: 'half-line', afterwards: dice.pick(['silence', 'exit']) }),
  },
  {
    weight: 3,
    shows: 'received',
    make: (dice) => ({ kind: 'banner', lines: dice.between(1, 40) }),
  },
  {
    weight: 4,
    shows: 'done',
    make: (dice) => ({
      kind: 'log-lines',
      before: dice.pick([30, 1000, 1500, 2000]),
      after: dice.pick([0, 30, 1500]),
    }),
  },
  // Without end: until the process is ended by something else.
  {
    weight: 2,
    shows: 'received',
    make: (dice) => ({ kind: 'banner', lines: 1_000_000, perSecond: dice.pick([20, 500]) }),
  },
  plain('close-stdout', 2, 'received'),
  plain('stop-reading', 2, 'received'),
  {
    weight: 2,
    shows: 'received',
    make: (dice) => ({ kind: 'fork', n: dice.between(1, 2), hold: dice.chance(0.5) }),
  },
  {
    weight: 2,
    shows: 'received',
    make: (dice) => ({
      kind: 'setsid-child',
      n: 1,
      hold: dice.chance(0.5),
      ignoreTerm: dice.chance(0.5),
      doubleFork: dice.chance(0.5),
    }),
  },
  plain('ignore-term', 2, 'received'),
  plain('ignore-eof', 2, 'received'),
  {
    weight: 1,
    shows: 'received',
    make: () => ({ kind: 'leak', mbPerSecond: 30, maxMb: 30 }),
  },
];

const ofHttp: readonly Row[] = [
  ...everywhere,
  { weight: 2, shows: 'done', make: () => ({ kind: 'half-line', afterwards: 'end' }) },
  plain('reset-before-effect', 6, 'received'),
  plain('reset-after-effect', 6, 'done'),
  {
    weight: 4,
    shows: 'received',
    make: (dice) => ({ kind: 'http-error', status: dice.pick([400, 404, 500, 502, 503]) }),
  },
  {
    weight: 4,
    shows: 'done',
    make: (dice) => ({ kind: 'http-error', effect: true, status: dice.pick([500, 502, 503]) }),
  },
  plain('http-429', 4, 'received'),
  plain('http-401', 3, 'received'),
  plain('session-404', 3, 'received'),
  plain('stream-end', 4, 'done'),
  plain('redirect', 2, 'received'),
  {
    weight: 2,
    shows: 'done',
    make: (dice) => ({ kind: 'refuse-connections', ms: dice.between(100, 1500) }),
  },
];

/** It comes for a name that another server has: nobody's calls may go astray. */
export function takingName(name: string): OrderedFault {
  return { fault: { kind: 'new-tool', name }, shows: 'received' };
}

/** One fault that means something on this wire. */
export function someFault(transport: 'stdio' | 'http', dice: Dice): OrderedFault {
  const { shows, make } = dice.weighed(transport === 'stdio' ? ofProcesses : ofHttp);
  return { shows, fault: make(dice) };
}

/** A process that reads no more, so that what is sent to it waits with us. */
export const stopReading: OrderedFault = { fault: { kind: 'stop-reading' }, shows: 'received' };
