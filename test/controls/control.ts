// One control: a bug is planted in a copy of the build, and whoever has to find it looks at the copy.
// It is found only if a rule of the promise that it breaks has spoken: a bug that trips something else
// shows nothing about the rule that is on trial.

import { hasSpoken, type Search, search, sizes, type Wanted } from './finders.ts';
import { type FinderName, type Patch, patches, rulesOf } from './patches.ts';
import { ScratchBuild } from './scratch-build.ts';

export interface Verdict {
  readonly isFound: boolean;
  /** After how much and by which rule, or why not. */
  readonly words: string;
  /** What the finder said, if it found the bug. */
  readonly finding?: string;
}

const allTests = [...new Set(patches.flatMap(({ tests = [] }) => tests))];

export interface TryOptions {
  readonly signal?: AbortSignal;
  /** The copy with the bug stays. */
  readonly isKept?: boolean;
}

export async function tryPatch(patch: Patch, options: TryOptions = {}): Promise<Verdict> {
  const { signal, isKept = false } = options;
  using build = new ScratchBuild(patch.foundBy);
  if (isKept) build.keep();
  build.plant(patch);
  const began = performance.now();
  const outcome = await attempted(patch.foundBy, build.folder, {
    rules: rulesOf(patch),
    tests: patch.tests,
    signal,
  });
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  return verdictOn(patch, outcome, seconds);
}

/** What the finder says of a copy without a bug: it must find nothing in the same size. */
export async function tryWithout(
  finder: FinderName,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  using build = new ScratchBuild(finder);
  const outcome = await attempted(finder, build.folder, { rules: [], tests: allTests, signal });
  if (outcome instanceof Error) return [outcome.message];
  return outcome.findings.map(({ words }) => words);
}

/** A finder that breaks has found nothing. */
async function attempted(
  finder: FinderName,
  build: string,
  wanted: Wanted,
): Promise<Search | Error> {
  try {
    return await search(finder, build, wanted);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function verdictOn(patch: Patch, outcome: Search | Error, seconds: string): Verdict {
  const { id, foundBy } = patch;
  if (outcome instanceof Error) return { isFound: false, words: `${id}: ${outcome.message}` };
  const { findings, extent } = outcome;
  const rules = rulesOf(patch);
  const finding = findings.find((one) => hasSpoken(rules, [one]));
  if (finding !== undefined) {
    const words = `${extent}, ${seconds} s: ${foundBy}, ${finding.rule}`;
    return { isFound: true, words, finding: finding.words };
  }
  const others = findings.length === 0 ? 'nothing' : `only: ${findings[0]?.words}`;
  const words = `${id} was not found by ${rules.join(' or ')} in ${sizes[foundBy]}; ${foundBy} found ${others}`;
  return { isFound: false, words };
}
