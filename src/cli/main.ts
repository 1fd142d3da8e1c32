#!/usr/bin/env node
// The entry point of the command `holdfast`: checks that Node is new enough. An older Node cannot
// even link the modules of the program, and would end with a stack trace about a missing export; so
// they are imported only after this check, and nothing is imported before it that an old Node does
// not have. `holdfast serve` becomes the pid-holder, which runs the same command line once more.

import { needsHolder } from '../rollout/needs-holder.ts';
import { closeInheritedDescriptors } from '../supervise/process/start/inherited-descriptors.ts';
import { nodeProblem } from './node-version.ts';
import { keepYoungGenerationSmall } from './young-generation.ts';

const problem = nodeProblem(process.version) ?? folderProblem();
if (problem === undefined) {
  keepYoungGenerationSmall();
  // Before anything of ours is open.
  closeInheritedDescriptors(process);
  if (needsHolder(process)) {
    const { runHolder } = await import('../rollout/holder/run-holder.ts');
    await runHolder(process.argv[1] as string, process.argv.slice(2));
  } else await import('./run.ts');
} else {
  process.stderr.write(`holdfast: ${problem.text}; ${problem.remedy}\n`);
  process.exitCode = 2;
}

/** A shell may stand in a folder that was removed: then not even a relative path can be read. */
function folderProblem(): { readonly text: string; readonly remedy: string } | undefined {
  try {
    process.cwd();
    return undefined;
  } catch {
    return { text: 'the working directory was removed', remedy: 'change to another one' };
  }
}
