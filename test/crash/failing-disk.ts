// What is asked of a gateway whose disk fails: calls go on, its status tells of it and, when the disk
// works again, of that, and then everything is on the disk that should have been. A database that could not
// be opened stays away until the next start: its instance says so, with what to do, for as long as it lives.

import { until } from '../support/until.ts';
import type { Client } from './asking.ts';
import { keptRecords } from './kept-records.ts';
import { type LivedInHome, toolName } from './lived-in-home.ts';
import type { Shipped } from './shipped.ts';
import type { Violation } from './subjects/subject.ts';
import type { Tally } from './tally.ts';

const calls = 5;

/** Throws `FailedCall` if one of them fails. */
export async function useIt(client: Client, tally: Tally): Promise<void> {
  for (let left = calls; left > 0; left -= 1) {
    await client.call(`server__${toolName}`);
    tally.callsUnderFaults += 1;
  }
  await client.tools();
}

/** Writing is not waited for by anybody, so that the failure may come a moment later. */
export async function isShown(
  client: Client,
  places: readonly string[],
): Promise<readonly Violation[]> {
  let told = '';
  const isTold = async () => {
    const { disk } = await client.status();
    told = disk.ok ? 'ok' : disk.problem;
    return places.some((place) => told.includes(place));
  };
  try {
    await until(isTold, 'the status tells of the failing disk', 5_000);
    return [];
  } catch {
    return [{ wrong: 'silent', text: `the status says: ${told}` }];
  }
}

const untilRestart = /state\.db cannot be used .* then start Holdfast again$/;

export async function recovers(client: Client): Promise<readonly Violation[]> {
  let told = '';
  const isWell = async () => {
    const { disk } = await client.status();
    told = disk.ok ? 'ok' : disk.problem;
    return disk.ok || untilRestart.test(told);
  };
  try {
    await until(isWell, 'the status says that the disk works again');
    return [];
  } catch {
    return [{ wrong: 'silent', text: `the disk works again, but the status says: ${told}` }];
  }
}

/** Everything that the failing disk had refused must be on it now. */
export function whatIsKept(home: LivedInHome, shipped: Shipped): readonly Violation[] {
  const found: Violation[] = [];
  for (const collection of ['catalogues', 'verdicts', 'tokens']) {
    const { records, broken } = keptRecords(shipped, home.home, collection);
    found.push(...broken.map((text) => ({ wrong: 'lost' as const, text })));
    const file = collection === 'tokens' ? '' : home.recordOf(collection);
    if (!records.some((record) => file.endsWith(record.file) || file === '')) {
      found.push({ wrong: 'lost', text: `nothing was written to ${collection} in the end` });
    }
  }
  const lines = home.logged('call');
  // One call is from the life in which the home was settled.
  if (lines.length !== calls + 1) {
    const text = `the event log tells of ${lines.length - 1} of ${calls} calls in the end`;
    found.push({ wrong: 'lost', text });
  }
  return found;
}

/** After the next start the token is still the one that was printed. */
export async function sameToken(home: LivedInHome): Promise<readonly Violation[]> {
  const printed = home.token;
  const { life, client, token } = await home.visit();
  const { status } = await client.ask('server/discover', {}, printed);
  await life.kill();
  life[Symbol.dispose]();
  if (token === null && status === 200) return [];
  return [{ wrong: 'lost', text: `the printed token gives ${status} after the next start` }];
}
