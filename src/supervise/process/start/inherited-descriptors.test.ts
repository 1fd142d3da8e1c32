import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { closeInheritedDescriptors, type StartedProgram } from './inherited-descriptors.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-proc-'));
  for (const name of ['fd', 'fdinfo']) mkdirSync(join(folder, name));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const inherited = '0100000';
const closedOnExec = '02100002';

/** Open, as /proc shows it. */
function open(descriptor: number, flags: string | null): void {
  writeFileSync(join(folder, 'fd', String(descriptor)), '');
  if (flags === null) return;
  const facts = `pos:\t0\nflags:\t${flags}\nmnt_id:\t24\nino:\t1\n`;
  writeFileSync(join(folder, 'fdinfo', String(descriptor)), facts);
}

function closed(program: Partial<StartedProgram> = {}): readonly number[] {
  const numbers: number[] = [];
  const close = (descriptor: number) => {
    numbers.push(descriptor);
    throw Object.assign(new Error('EIO'), { code: 'EIO', errno: -5 });
  };
  closeInheritedDescriptors({ argv: [], env: {}, ...program }, { folder, close });
  return numbers.sort((one, other) => one - other);
}

describe('descriptors that were inherited', () => {
  it('are closed whatever their numbers are, and ours are not #least-environment', () => {
    for (const number of [0, 1, 2, 3, 16, 150, 700, 4_000, 1_000_000]) open(number, inherited);
    for (const number of [4, 5, 17, 151]) open(number, closedOnExec);
    // The one with which they are listed is closed when its facts are read.
    open(20, null);
    expect(closed()).toEqual([3, 16, 150, 700, 4_000, 1_000_000]);
  });

  it('stay open where the command line or HOLDFAST_CONFIG names them', () => {
    for (const number of [60, 61, 62, 63]) open(number, inherited);
    expect(closed({ argv: ['--config=/dev/fd/63', '/proc/self/fd/62'] })).toEqual([60, 61]);
    expect(closed({ env: { HOLDFAST_CONFIG: '/dev/fd/60' } })).toEqual([61, 62, 63]);
  });

  it('are left alone where there is no /proc', () => {
    rmSync(folder, { recursive: true });
    expect(closed()).toEqual([]);
  });
});
