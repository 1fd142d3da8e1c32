// Which scenarios a revision of the specification requires, read from the lists that the suite
// ships (requirements/<revision>.yaml). They are flat enough to be read by the line, and reading
// them here keeps the suite's own YAML package out of the project.

import { readFile } from 'node:fs/promises';
import { suiteFolder } from './installation.ts';

export type Revision = '2026-07-28' | '2025-11-25';
export type Leg = 'server' | 'client';

export interface Requirements {
  readonly required: readonly string[];
  /** Run and reported, but no part of conformance. */
  readonly unscored: readonly string[];
}

export async function requirementsOf(revision: Revision, leg: Leg): Promise<Requirements> {
  const text = await readFile(`${suiteFolder}/requirements/${revision}.yaml`, 'utf8');
  const required: string[] = [];
  const unscored: string[] = [];
  let section = '';
  let scenario = '';
  for (const line of text.split('\n')) {
    section = /^(\w+):$/.exec(line)?.[1] ?? section;
    if (section === leg) required.push(...(/^ {2}- (\S+)$/.exec(line)?.slice(1) ?? []));
    scenario = /^ {2}- scenario: (\S+)$/.exec(line)?.[1] ?? scenario;
    if (line === `    leg: ${leg}`) unscored.push(scenario);
  }
  return { required, unscored };
}
