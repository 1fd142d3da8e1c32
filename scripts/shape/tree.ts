// The shape of the source tree in figures: how many files lie side by side, how long they are, and
// which exported names are declared in more than one file (so that a reader cannot know from the name
// which one is meant). Tests are left out.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface TreeShape {
  /** Files side by side, by folder; the crowded first. */
  readonly folders: readonly (readonly [folder: string, files: number])[];
  readonly files: number;
  readonly medianLines: number;
  readonly longest: readonly (readonly [file: string, lines: number])[];
  readonly over300: number;
  /** Exported names that are declared in more than one file, with the files. */
  readonly ambiguous: readonly (readonly [name: string, files: readonly string[]])[];
}

export function treeShape(root: string): TreeShape {
  const files = sourceFiles(root);
  const folders = new Map<string, number>();
  const declared = new Map<string, string[]>();
  const lengths: [string, number][] = [];
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8');
    folders.set(dirname(file), (folders.get(dirname(file)) ?? 0) + 1);
    lengths.push([file, text.split('\n').length - 1]);
    for (const name of exportedNames(text)) {
      declared.set(name, [...(declared.get(name) ?? []), file]);
    }
  }
  lengths.sort(([, one], [, other]) => other - one);
  return {
    folders: [...folders].sort(([, one], [, other]) => other - one),
    files: files.length,
    medianLines: lengths[Math.floor(lengths.length / 2)]?.[1] ?? 0,
    longest: lengths.slice(0, 5),
    over300: lengths.filter(([, lines]) => lines > 300).length,
    ambiguous: [...declared].filter(([, places]) => places.length > 1).sort(),
  };
}

function sourceFiles(root: string): readonly string[] {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => join('src', file))
    .sort();
}

const declaration =
  /^export (?:default )?(?:abstract |async )*(?:function\*?|class|interface|type|const) (\w+)/gm;

/** What the file declares and exports itself; what it only hands on does not count. */
function exportedNames(text: string): ReadonlySet<string> {
  return new Set(Array.from(text.matchAll(declaration), ([, name = '']) => name));
}
