// The suite of the stores on Node 22, where the database is that of Node itself: the same test files, run by
// the Node that the conformance suite brings along.

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { installSuite, suiteNode } from '../conformance/installation.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

beforeAll(installSuite, 300_000);

interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

async function suiteOn(project: string, files: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-node-22-'));
  const report = join(folder, 'report.json');
  try {
    const command = ['node_modules/vitest/vitest.mjs', 'run', '--project', project, ...files];
    const args = [...command, '-t', 'as a store', '--reporter', 'json', '--outputFile', report];
    // What it thinks of the tests is in the report.
    await promisify(execFile)(suiteNode, args, {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
    }).catch(() => undefined);
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Results;
    const all = testResults.flatMap(({ assertionResults }) => assertionResults);
    const titles = (wanted: string) =>
      all.filter(({ status }) => status === wanted).map(({ fullName }) => fullName);
    return { passed: titles('passed'), failed: titles('failed') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('the suite of the stores on Node 22', () => {
  it('passes in the database of Node itself #durable #kept-or-refused', async () => {
    const { passed, failed } = await suiteOn('integration', [
      'test/integration/sqlite-store.test.ts',
    ]);
    expect(failed).toEqual([]);
    const of = (store: string) =>
      passed.filter((title) => title.startsWith(`${store}, as a store`));
    expect(of('the driver node:sqlite')).toHaveLength(1);
    expect(of('the SQLite store').length).toBeGreaterThan(100);
    expect(of('the SQLite store in its thread').length).toBeGreaterThan(100);
  }, 300_000);

  it('passes in memory and in files #kept-or-refused', async () => {
    const files = ['memory-store', 'store-suite', 'file-store'].map(
      (name) => `src/store/${name}.test.ts`,
    );
    const { passed, failed } = await suiteOn('unit', files);
    expect(failed).toEqual([]);
    expect(passed.length).toBeGreaterThan(200);
  }, 300_000);
});
