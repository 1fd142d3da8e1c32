// The database as a subject of the crash test: calls that fail, power cuts and damage, with the driver of
// this Node and with that of the Node that the conformance suite brings along. Without strace only damage
// is tried, and the report says so.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { suiteNode } from '../../conformance/installation.ts';
import { type Figure, fact } from '../../proof/report.ts';
import type { Dice } from '../../support/dice.ts';
import type { Tally } from '../tally.ts';
import { failCalls } from './failing-calls.ts';
import { measureHanging } from './hanging-disk.ts';
import { harmBytes } from './harmed-bytes.ts';
import { cutPower } from './power-cuts.ts';
import { straceRefusal } from './traced.ts';

export interface DatabaseOptions {
  readonly build: string;
  readonly tally: Tally;
  readonly dice: Dice;
  readonly signal: AbortSignal;
  readonly progress: (text: string) => void;
}

/** With the other driver only every so manieth case: most of it is the same code. */
const everyOfOther = 5;
/** Every byte of a header and every thirteenth of the rest are cases; of these every so manieth. */
const everyHarm = 5;

export async function crashDatabase(options: DatabaseOptions): Promise<readonly Figure[]> {
  const { dice, progress } = options;
  const build = resolve(options.build);
  const refusal = straceRefusal();
  for (const node of [process.execPath, suiteNode].filter((one) => existsSync(one))) {
    const every = node === process.execPath ? 1 : everyOfOther;
    const shared = { ...options, build, node };
    await harmBytes({ ...shared, dice: dice.of('harm'), every: every * everyHarm });
    if (refusal !== undefined) continue;
    await failCalls({ ...shared, dice: dice.of('calls'), every });
    await cutPower({ ...shared, dice: dice.of('power'), every });
    progress(`a database was crashed with ${node}`);
  }
  const isHung = refusal === undefined && !options.signal.aborted;
  const hanging = isHung ? await measureHanging(build, options.signal) : [];
  const other = existsSync(suiteNode) ? 'two' : 'one: the conformance suite is not installed';
  return [
    fact('database: versions of Node', other),
    ...hanging,
    fact('database: strace', refusal === undefined ? 'used' : `not used: ${refusal}`),
  ];
}
