// `npm run shape`: the figures of the tree (files per folder, lengths, names that mean two things) and
// what one HTTP tools/call runs through, as a table in Markdown. `--json` prints all of it as JSON, and
// `--folder DIR` reads another checkout's tree, without the call. Said before and after a reshaping.

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type CallPath, callPath } from './shape/call-path.ts';
import { type TreeShape, treeShape } from './shape/tree.ts';

const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, folder: { type: 'string' } },
});
const own = fileURLToPath(new URL('../', import.meta.url));
const tree = treeShape(values.folder === undefined ? own : resolve(values.folder));
const call = values.folder === undefined ? await callPath() : undefined;
console.log(values.json ? JSON.stringify({ ...tree, call }, null, 2) : page(tree, call));

function page(shape: TreeShape, path: CallPath | undefined): string {
  const { folders, longest, ambiguous } = shape;
  const rows: readonly (readonly [string, string])[] = [
    ['source files', String(shape.files)],
    ['folders', String(folders.length)],
    ['most files side by side', folders.slice(0, 5).map(counted).join(', ')],
    ['median lines of a file', String(shape.medianLines)],
    ['longest files', longest.map(counted).join(', ')],
    ['files over 300 lines', String(shape.over300)],
    ['exported names declared twice', `${ambiguous.length}: ${ambiguous.map(first).join(', ')}`],
    ...(path
      ? ([
          ['files that one HTTP tools/call runs through', String(path.files.length)],
          ['functions that it calls', String(path.functions.length)],
        ] as const)
      : []),
  ];
  return [
    '| what | figure |',
    '| --- | --- |',
    ...rows.map(([what, n]) => `| ${what} | ${n} |`),
  ].join('\n');
}

function counted([name, count]: readonly [string, number]): string {
  return `${name} ${count}`;
}

function first([name]: readonly [string, unknown]): string {
  return name;
}
