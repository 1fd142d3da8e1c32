// What a figure was measured on: without it a figure says nothing.

import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, release } from 'node:os';

export function measuredOn(): string {
  const cores = availableParallelism();
  const [cpu] = cpus();
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${cores} cores of ${cpu?.model.trim() ?? 'an unknown processor'}`;
  return `Commit ${commit()}, ${date}, Node ${process.version}, ${process.platform} ${release()}, ${machine}.`;
}

function commit(): string {
  try {
    const hash = git('rev-parse', '--short', 'HEAD');
    // The figures that are being written are no change of the code.
    const changes = git('status', '--porcelain', '--', '.', ':!docs').length > 0;
    return changes ? `${hash} with changes` : hash;
  } catch {
    return 'unknown (not a git checkout)';
  }
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}
