// Holds docs/promises.md, docs/coverage.md and the test titles together: every promise has a test
// that carries its id as `#id`, every tag names a promise, every behaviour names one. With --write
// the last column of the table is brought up to date.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const promisesFile = 'docs/promises.md';
const coverageFile = 'docs/coverage.md';
const behaviours = [
  ...numbered('H', 1, 41),
  ...numbered('R', 1, 18),
  ...numbered('L', 1, 14),
  ...numbered('P', 1, 29),
  ...['Pw1', 'Pw2', 'Pw3', 'Pw4', 'Pw9', 'Pw11', 'Pw14'],
  ...numbered('B', 1, 27),
  ...numbered('Bw', 1, 13),
  ...['XH5', 'XH6', 'C11', 'C14'],
];

const promises = rows(promisesFile);
const covered = new Map(rows(coverageFile).map(([behaviour, , promise]) => [behaviour, promise]));
const tests = taggedTests();
const problems: string[] = [];

const ids = promises.map(([id]) => id ?? '');
if (ids.length < 25 || ids.length > 120)
  problems.push(`${ids.length} promises; there should be 25 to 120`);
for (const id of ids) {
  if (ids.indexOf(id) !== ids.lastIndexOf(id)) problems.push(`promise ${id} is listed twice`);
  if (!tests.has(id)) problems.push(`promise ${id} has no test with #${id} in its title`);
}
for (const [tag, files] of tests) {
  if (!ids.includes(tag)) problems.push(`${[...files].join(', ')}: #${tag} is not a promise`);
}
for (const behaviour of behaviours) {
  const promise = covered.get(behaviour);
  if (promise === undefined) problems.push(`${behaviour} is not in ${coverageFile}`);
  else if (!ids.includes(promise))
    problems.push(`${behaviour} names ${promise}, which is no promise`);
}
bringUpToDate();

if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}
console.log(
  `${ids.length} promises, ${behaviours.length} behaviours, ${[...tests.values()].flatMap((files) => [...files]).length} links to test files`,
);

function numbered(letter: string, from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => `${letter}${from + index}`);
}

function rows(file: string): string[][] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (id|behaviour|---) \|/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** Which test files carry which tags, read from the titles of it(), test() and describe(). */
function taggedTests(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const files = ['src', 'test']
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name))),
    )
    .filter((file) => file.endsWith('.test.ts'))
    .sort();
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    const titles = text.matchAll(
      /\b(?:it|test|describe)(?:\.\w+(?:\([^)]*\))?)?\(\s*(['"`])((?:(?!\1)[^\\]|\\.)*)\1/gs,
    );
    for (const [, , title] of titles) {
      for (const [, tag] of (title ?? '').matchAll(/#([a-z]+(?:-[a-z]+)*)/g)) {
        if (tag) found.set(tag, (found.get(tag) ?? new Set()).add(file));
      }
    }
  }
  return found;
}

function bringUpToDate(): void {
  const before = readFileSync(promisesFile, 'utf8');
  const after = before.replace(
    /^\| ([a-z-]+) \| (.*) \|(.*)\|$/gm,
    (line, id: string, promise: string) => {
      if (id === 'id' || /^-+$/.test(id)) return line;
      return `| ${id} | ${promise} | ${[...(tests.get(id) ?? [])].join(', ')} |`;
    },
  );
  if (after === before) return;
  if (process.argv.includes('--write')) writeFileSync(promisesFile, after);
  else
    problems.push(
      `${promisesFile}: the last column is out of date; run: npm run promises -- --write`,
    );
}
