// A wait in a test ends by an event, and no test says how long something takes: a busy machine is no
// defect. Who may set a timer is listed here with the reason; what is measured in time, memory or
// processor time belongs to the proofs (docs/proof.md) and the bench.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const here = 'test/architecture/waits.test.ts';

const timer = /\bset(?:Timeout|Interval)\(|node:timers|\bsystemClock\.after\(/;
const measure = /\bperformance\.now\(|\bprocess\.(?:memoryUsage|cpuUsage|hrtime|resourceUsage)\b/;

/** Programs that play servers: what they do in time is what they are for. */
const played = ['test/fixtures/', 'test/conformance/fixture/'];

const killer = 'kills what does not end by itself';
const load = 'part of the load or the trouble that a proof makes';
const sample = 'looks at memory or progress again and again while a proof runs';
const program = 'text of a server that does nothing but live';

const reasons: Readonly<Record<string, string>> = {
  'src/kernel/system-clock.test.ts': 'is about the timers themselves',
  'test/support/until.ts': 'looks at what has no event: other processes, files, counters',
  'test/support/gateway.ts': killer,
  'test/support/gateway-home.ts': killer,
  'test/support/gateway-stdio-client.ts': killer,
  'test/fuzz/fuzzed-gateway.ts': killer,
  'test/interop/client-proof.ts': killer,
  'test/interop/peers/stdio-peer.ts': killer,
  'test/crash/home.ts': 'gives up a start that hangs',
  'test/crash/kills.ts': 'the moment of a kill is drawn by dice',
  'test/crash/orphans.ts': 'two seconds are what is promised',
  'test/support/signalled-at-claim.ts': 'a signal arrives between two messages of a successor',
  'test/fuzz/raw-socket.ts': 'a socket that stays silent is a finding',
  'test/fleet/callers.ts': load,
  'test/fleet/findings.ts': sample,
  'test/fleet/cuts.ts': 'a network is damaged for a time',
  'test/rollout/clients/load-client.ts': load,
  'test/rollout/clients/raw-stdio.ts': load,
  'test/rollout/rolling.ts': load,
  'test/rollout/busy-machine.ts': sample,
  'test/rollout/memory.ts': 'each process is looked at at the same age',
  'test/rollout/kill-one.ts': 'the moment of a kill is drawn by dice',
  'test/rollout/kills.ts': 'two seconds are what is promised',
  'test/integration/rollout-stdio-gateway.test.ts': load,
  'test/integration/rollout-hanging-successor.test.ts': 'text of a program that hangs',
  'test/support/steady-calls.ts': load,
  'test/support/link-relay.ts': 'a slow network',
  'test/support/replicas.ts': 'a balancer that looks at /readyz again and again',
  'test/chaos/client.ts': load,
  'test/chaos/client-http.ts': load,
  'test/chaos/client-stdio.ts': load,
  'test/chaos/neighbours/bare-server.ts': load,
  'test/chaos/neighbours/prober.ts': load,
  'test/chaos/neighbours/trouble.ts': load,
  'test/slow-clients/flood-server.mjs': load,
  'test/slow-clients/prober.mjs': load,
  'test/slow-clients/slow-clients.ts': load,
  'test/slow-clients/world.ts': sample,
  'test/load/frames.ts': sample,
  'test/interop/restart-proof.ts': load,
  'test/interop/clients/drive.mjs': killer,
  'test/integration/live-config-storm.test.ts': load,
  'test/integration/role-storm.test.ts': load,
  'test/integration/cli-logs.test.ts': program,
  'test/simulation/main.ts': sample,
  'test/integration/limits.test.ts': 'hands the timers of the product on, and counts them',
  'test/integration/cli-doctor.test.ts': program,
  'test/integration/failing-cause.test.ts': program,
  'test/integration/gateway-greetings.test.ts': program,
  'test/integration/holder-handles.test.ts': program,
};

function filesBelow(folder: string, ending: RegExp): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((name) => ending.test(name) && !name.includes('/node_modules/'))
    .filter((name) => name !== here && !played.some((part) => name.startsWith(part)));
}

const files = [...filesBelow('src', /\.test\.ts$/), ...filesBelow('test', /\.(?:ts|mjs)$/)];
const having = (pattern: RegExp, among: readonly string[]) =>
  among.filter((name) => pattern.test(readFileSync(join(root, name), 'utf8')));

describe('a test', () => {
  it('sets no timer but for a reason that is listed', () => {
    expect(files.length).toBeGreaterThan(300);
    expect(having(timer, files).sort()).toEqual(Object.keys(reasons).sort());
  });

  it('measures neither time nor memory nor processor time', () => {
    const tests = files.filter((name) => name.endsWith('.test.ts'));
    expect(having(measure, tests)).toEqual([]);
  });

  it('is read for what it would be refused for', () => {
    expect(timer.test('await new Promise((resolve) => setTimeout(resolve, 50));')).toBe(true);
    expect(timer.test("import { setTimeout as pause } from 'node:timers/promises';")).toBe(true);
    expect(measure.test('expect(performance.now() - began).toBeLessThan(5_000);')).toBe(true);
  });
});
