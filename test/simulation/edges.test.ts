// What is simulated and what is not: the host under simulation is the shipped one, whole, on the
// shipped store, and only the five edges between it and the world are replaced: clock, chance,
// processes, network and disk. Read from the imports and from the parts the host is given, so that a
// shortcut taken later is seen.

import { readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { FileStore } from '../../src/store/file-store.ts';
import { StoreOverRollout } from '../../src/store/remote/store-over-rollout.ts';
import { drawFleet, partsFor } from './fleet.ts';
import { Judge } from './invariants.ts';
import { Dice } from './random.ts';
import { World } from './world.ts';

const folder = dirname(fileURLToPath(import.meta.url));
const root = join(folder, '../..');

/** What runs: the modules that a file imports for their values, followed to the end, or to an edge. */
function reachedFrom(file: string, edge = '', reached = new Set<string>()): ReadonlySet<string> {
  if (reached.has(file) || file === edge) return reached;
  reached.add(file);
  for (const name of valueImports(file)) {
    if (name.startsWith('.')) reachedFrom(join(dirname(file), name), edge, reached);
    else reached.add(name);
  }
  return reached;
}

function valueImports(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const imports = [...text.matchAll(/^(?:import|export) (?!type )([^;]*?)from '([^']+)';/gms)];
  // `import { type A, type B }` brings no value along.
  const isValue = (names: string) =>
    !/^\{[^}]*\}\s*$/.test(names) || /[{,]\s*(?!type\b)[\w$]/.test(names);
  return imports.filter(([, names]) => isValue(names ?? '')).map(([, , name]) => name as string);
}

/** The files of this folder that a run consists of; the command around them is not simulated. */
function simulationFiles(): string[] {
  const reached = [...reachedFrom(join(folder, 'simulate.ts'))];
  return reached.filter((file) => file.startsWith(`${folder}/`));
}

function outsideOf(reached: ReadonlySet<string>): string[] {
  const pure = ['node:async_hooks', 'node:buffer', 'node:crypto', 'node:path'];
  const isOutside = (name: string) => name.startsWith('node:') || name === 'undici';
  return [...reached].filter((name) => isOutside(name) && !pure.includes(name));
}

describe('the simulated host', () => {
  const shipped = [...reachedFrom(join(root, 'src/host/host-core.ts'))].map((file) =>
    file.startsWith('/') ? relative(root, file) : file,
  );

  it('is the shipped one, with the one pipeline, the shells and all connections', () => {
    expect(shipped).toEqual(
      expect.arrayContaining([
        'src/host/call/call.ts',
        'src/host/call/attempts.ts',
        'src/policy/replay.ts',
        'src/supervise/life.ts',
        'src/supervise/supervisor.ts',
        'src/upstream/stdio/stdio-connection.ts',
        'src/upstream/http/http-connection.ts',
        'src/upstream/http/sse-2024-connection.ts',
      ]),
    );
  });

  it('reaches the real clock, processes, network and disk only through what it is given', () => {
    expect(outsideOf(new Set(shipped))).toEqual([]);
    expect(shipped).not.toContain('src/kernel/system-clock.ts');
    const store = join(root, 'src/store/file-store.ts');
    expect(outsideOf(reachedFrom(store, join(root, 'src/store/disk.ts')))).toEqual([]);
  });

  it('is given five simulated edges and nothing else that acts', () => {
    const world = new World({ seed: 1 }, new Judge());
    const given = world.edges();
    const audience = { heard: () => {}, complained: () => {} };
    const fleet = { ...drawFleet(new Dice(1)), keys: 'memory' as const };
    const never = () => new Promise<never>(() => {});
    const holders = { id: '1', isAlive: never, claimAt: never, answerClaims: () => {} };
    const neighbours = { holders, over: new StoreOverRollout() };
    const { loaded } = fleet.first;
    const { edges, store, ...rest } = partsFor(given, fleet, loaded, audience, neighbours);
    const { adopt, clock, http, random, spawn } = given;
    expect(edges).toEqual({ adopt, clock, http, random, spawn });
    expect(store).toBeInstanceOf(FileStore);
    expect(Object.keys(rest).sort()).toEqual([
      'config',
      'configFile',
      'disabled',
      'events',
      'hasClients',
      'identity',
      'instance',
      'keyed',
      'leave',
      'machineNow',
      'readConfig',
      'readEntry',
      'release',
      'startedBy',
    ]);
  });
});

describe('the simulation', () => {
  it('takes from the shipped code what it simulates with, and replaces no module of it', () => {
    const taken = new Set(
      simulationFiles()
        .flatMap((file) => valueImports(file))
        .filter((name) => name.startsWith('../')),
    );
    expect([...taken].sort()).toEqual([
      '../../src/cli/gateway/rollout/server-lines.ts',
      '../../src/config/load.ts',
      '../../src/downstream/view/known-lists.ts',
      '../../src/host/host-core.ts',
      '../../src/kernel/fault.ts',
      '../../src/observe/events.ts',
      '../../src/policy/keyed-records.ts',
      '../../src/policy/principal.ts',
      '../../src/policy/stored-key.ts',
      '../../src/replicas/neighbour-bus.ts',
      '../../src/replicas/rollout-holders.ts',
      '../../src/rollout/hand-over-link.ts',
      '../../src/store/file-store.ts',
      '../../src/store/owner-store.ts',
      '../../src/store/record-files.ts',
      '../../src/store/remote/former-store.ts',
      '../../src/store/remote/store-over-rollout.ts',
      '../../src/store/sealed-records.ts',
      '../../src/store/sqlite/instance-store.ts',
      '../../src/store/sqlite/operation.ts',
      '../../src/store/sqlite/sqlite-store.ts',
      '../../src/store/store-error.ts',
      '../../src/wire/eras.ts',
    ]);
  });

  it('touches nothing global but the end of a turn, which belongs to the clock', () => {
    const touched = simulationFiles().flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\bglobalThis\.(\w+) = /g)].map(
        ([, name]) => `${basename(file)} ${name}`,
      ),
    );
    expect([...new Set(touched)]).toEqual(['virtual-clock.ts setImmediate']);
  });

  it('has no time, chance or input of its own', () => {
    const forbidden =
      /\b(?:Date\b|Math\.random|setTimeout|setInterval|performance|node:(?:fs|net|http|child_process|timers)|vi\.mock)/;
    const offenders = simulationFiles().filter((file) =>
      forbidden.test(readFileSync(file, 'utf8').replace(/^\s*\/\/.*$/gm, '')),
    );
    expect(offenders).toEqual([]);
  });
});
