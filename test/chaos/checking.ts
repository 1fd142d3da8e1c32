// Hands the evidence of a run to the checker, a program of its own that has nothing but these files.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Report } from '../proof/report.ts';

const checker = fileURLToPath(new URL('checker/main.ts', import.meta.url));

/** Its figures and findings; without a report of it there is one finding, which says so. */
export async function judge(folder: string): Promise<Pick<Report, 'figures' | 'findings'>> {
  const file = join(folder, 'verdict.json');
  const words = ['--import', 'tsx', checker, folder, '--json', file];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  const stderr: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => stderr.push(text));
  const [code] = await once(child, 'close');
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report;
  } catch {
    const said = stderr.join('').trim().slice(-500);
    return { figures: [], findings: [`the checker ended with ${code} and no verdict: ${said}`] };
  }
}
