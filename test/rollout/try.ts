import { openWorld } from './world.ts';
import { roll, formersGone } from './rolling.ts';
import { judge } from './judge.ts';
import { processesOf, commandOf } from './processes.ts';
const n = Number(process.argv[2] ?? 3), rate = Number(process.argv[3] ?? 100);
const world = await openWorld({ rate });
console.log([...world.holders]);
world.begin();
await new Promise((r) => setTimeout(r, 2000));
console.log('before', judge(world.history, world.files));
const rolled = await roll(world, { rollouts: n, dice: Math.random, progress: console.log });
await new Promise((r) => setTimeout(r, 2000));
await world.rest(); console.log('STDERR', world.instance.started.stderr.slice(-3000));
console.log(rolled.failures, await formersGone(world));
const v = judge(world.history, world.files);
console.dir({ ...v, failed: [v.failed.length, ...v.failed.slice(0, 15)], lost: [v.lost.length, ...v.lost.slice(0,5)], seen: [v.seen.length, ...v.seen.slice(0, 15)], pauses: world.history.pauses }, { depth: 5, maxStringLength: 600 });
import { readLedger, readStarts } from '../support/ledger.ts';
const bad = [...v.failed, ...v.unanswered].map((t) => /n\d+-\w+/.exec(t)?.[0]);
for (const n of bad.slice(0, 12)) { const s = world.history.settled.find((o) => o.nonce === n); console.log(n, s && new Date(performance.timeOrigin + s.began).toISOString().slice(17), s && new Date(performance.timeOrigin + s.ended).toISOString().slice(17), readLedger(world.files.ledger).filter((r) => r.nonce === n).map((r) => r.phase + ' ' + r.run + ' ' + new Date(r.at).toISOString().slice(17)).join(', ')); }
console.log(readStarts(world.files.starts).map((one) => `${one.pid} ${new Date(one.at).toISOString().slice(17)}`).join('\n'));
for (const [name, pid] of world.holders) { const { serving, others } = await processesOf(pid); console.log(name, pid, serving, JSON.stringify(others.map((one) => [one, commandOf(one).replace(/\n[^]*/, "").slice(0, 75)]))); }
await world[Symbol.asyncDispose]();
