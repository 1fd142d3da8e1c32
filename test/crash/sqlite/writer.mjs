// Writes a workload to a database as the product does, with the store of the build and its worker thread,
// and writes a line about each step into a file as soon as its promise has settled. A crash test runs it
// under strace, lets its disk fail and kills it.

import { openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [build, file, plan, told] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(build, path)).href);
const { openSqliteStore } = await load('store/sqlite/open-sqlite-store.js');
const { systemClock } = await load('kernel/system-clock.js');

const { workload, values, counterLimit } = JSON.parse(readFileSync(plan, 'utf8'));
const lines = openSync(told, 'a');
const tell = (line) => writeSync(lines, `${JSON.stringify(line)}\n`);
const durable = { durability: 'durable' };
const leaseMs = 3_600_000;

function opened() {
  const store = openSqliteStore(file, { clock: systemClock, report: () => {} });
  return {
    store,
    records: store.records('things', durable),
    log: store.log('events', durable),
    queue: store.queue('work', durable),
    counter: store.counter('counts', durable),
  };
}

let words = opened();

async function done(step) {
  const value = values[step.step];
  const { records, log, queue, counter } = words;
  switch (step.kind) {
    case 'put':
      await records.put(step.key, value);
      return {};
    case 'remove':
      await records.remove(step.key);
      return {};
    case 'append':
      return { sequence: await log.append(value) };
    case 'enqueue':
      await queue.put(value);
      return {};
    case 'work': {
      const claim = await queue.claim(leaseMs);
      if (claim === undefined) return {};
      tell({ step: step.step, did: 'claimed', item: claim.value.step });
      await queue.ack(claim.id);
      return { item: claim.value.step };
    }
    case 'take':
      await counter.take(step.key, step.amount, { limit: counterLimit, windowMs: null });
      return {};
    default:
      throw new Error(`no such step: ${step.kind}`);
  }
}

async function run(step) {
  const isWell = () => words.store.health().ok;
  try {
    const result = await done(step);
    tell({ step: step.step, did: 'done', isWell: isWell(), ...result });
  } catch (error) {
    tell({ step: step.step, did: 'refused', isWell: isWell(), reason: error.reason ?? `${error}` });
  }
}

for (const [at, group] of workload.groups.entries()) {
  await Promise.all(group.map(run));
  if (!workload.reopenAfter.includes(at)) continue;
  await words.store.close();
  words = opened();
}
if (workload.isClosed) await words.store.close();
else process.kill(process.pid, 'SIGKILL');
