// The options of the proofs and the bench: help is printed, and a wrong word is one line that says where the
// help is, without a stack trace. Nothing is measured here.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

function run(file: string, args: readonly string[]) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const tsx = ['--import', 'tsx', file, ...args];
    execFile(process.execPath, tsx, { cwd: root }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

const runner = 'test/proof/options-runner.ts';

const programs = [
  ['bench', 'bench/run.ts'],
  ['slowclients', 'test/slow-clients/main.ts'],
  ['strangers', 'test/strangers/main.ts'],
  ['fleet', 'test/fleet/main.ts'],
  ['rollouts', 'test/rollout/main.ts'],
  ['load', 'test/load/main.ts'],
  ['interop', 'test/interop/main.ts'],
  ['crashtest', 'test/crash/main.ts'],
  ['proof', 'test/proof/main.ts'],
] as const;

describe.concurrent.each(programs)('npm run %s', (name, file) => {
  it('prints its help on standard output', async () => {
    const { code, stdout, stderr } = await run(file, ['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^npm run ${name} -- \\[`));
    expect(stdout).toContain(`Example: npm run ${name} -- `);
  });

  const wrong: Readonly<Record<string, readonly (readonly string[])[]>> = {
    bench: [['nothing'], ['--rounds', 'many'], ['builds'], ['--base', '/nowhere'], ['--nonsense']],
    slowclients: [['--clients', 'many'], ['extra'], ['--nonsense']],
    strangers: [['--requests', 'many'], ['--only', 'nothing'], ['extra'], ['--nonsense']],
    fleet: [['--kills', 'many'], ['--only', 'nothing'], ['extra'], ['--nonsense']],
    rollouts: [['--rollouts', 'many'], ['--rate', '0'], ['extra'], ['--nonsense']],
    load: [['--responses', 'many'], ['extra'], ['--nonsense']],
    crashtest: [['--kills', 'many'], ['--build', '/nowhere'], ['extra']],
    proof: [['--size', 'huge'], ['--only', 'nothing'], ['--nonsense']],
    interop: [['--servers', 'nobody'], ['--seconds', '0'], ['extra'], ['--nonsense']],
  };

  it('answers every wrong word in one line', async () => {
    const lists = wrong[name] ?? [];
    const { stdout, stderr } = await run(runner, [file, JSON.stringify(lists)]);
    expect(stderr).toBe('');
    const oneLine = new RegExp(`^[^\\n]*; see npm run ${name} -- --help\\n$`);
    const refused = { code: 2, stdout: '', stderr: expect.stringMatching(oneLine) };
    expect(JSON.parse(stdout)).toEqual(lists.map(() => refused));
  });
});
