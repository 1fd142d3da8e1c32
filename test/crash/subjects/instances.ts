// What a gateway records about itself against orphans, and the state in which it starts: everything
// idle, nothing running, and nothing left over from those that were killed before it but what is young.

import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import type { Dice } from '../../support/dice.ts';
import type { CrashHome } from '../home.ts';
import type { Operation } from '../injected-faults/plan.ts';
import { filesIn } from '../kept-records.ts';
import { PaperServer } from '../paper-server.ts';
import type { Encounter, Fate, Subject, Violation } from './subject.ts';

/** What a dead gateway may leave: its record, and one that was being written. */
const mostRecords = 3;

export class InstancesSubject implements Subject {
  readonly name = 'instances';
  readonly under = ['instances'];
  readonly isAtStart = false;
  readonly moments = [
    { op: 'open', upTo: 2 },
    { op: 'write', upTo: 2 },
    { op: 'rename', upTo: 2 },
    { op: 'remove', upTo: 2 },
    { op: 'mkdir', upTo: 1 },
  ] as const;
  readonly #home: CrashHome;
  readonly #server: PaperServer;
  #hasStarted = false;

  constructor(home: CrashHome) {
    this.#home = home;
    this.#server = new PaperServer(home.file('child'));
    this.#server.offer(['{"name":"hello","inputSchema":{"type":"object"}}']);
  }

  servers() {
    return { child: this.#server.entry(0) };
  }

  prepare(_dice: Dice, op: Operation | null): void {
    if (op === 'mkdir') this.#home.wipe('instances');
  }

  forget(): void {}

  begin(): void {
    this.#hasStarted = false;
  }

  async check({ client }: Encounter): Promise<readonly Violation[]> {
    const { servers } = await client.status();
    const busy = (servers as { name: string; state: string; pid: number | null }[]).filter(
      ({ state, pid }) => state !== 'idle' || pid !== null,
    );
    return busy.map(({ name, state }) => {
      return { wrong: 'phantom', text: `${name} is ${state} in a gateway that was just started` };
    });
  }

  async act({ client }: Encounter): Promise<readonly Violation[]> {
    await client.call('child__hello');
    this.#hasStarted = true;
    return [];
  }

  /** Whoever has started a server has swept the records of the dead before. */
  examine(_fate: Fate): readonly Violation[] {
    const folder = this.#home.inState('instances');
    const young = filesIn(folder).filter((name) => name.endsWith('.json'));
    if (!this.#hasStarted || young.length <= mostRecords) return [];
    return [{ wrong: 'leftover', text: `${young.length} records of dead gateways in ${folder}` }];
  }
}

/** Makes every unfinished file look as if it had been left long ago, and says how many there are. */
export function ageLeftovers(home: CrashHome): number {
  const drafts = leftoversIn(home);
  for (const file of drafts) utimesSync(file, 1, 1);
  return drafts.length;
}

export function leftoversIn(home: CrashHome): readonly string[] {
  if (!home.hasState) return [];
  const files = readdirSync(home.state, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.tmp') || file.endsWith('.new'))
    .map((file) => join(home.state, file));
}
