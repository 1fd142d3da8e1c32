// A copy of the build with a bug planted in it. What the copy consists of depends on who looks for
// the bug: the simulation runs the modules that tsc wrote, the chaos and the strangers the bundle of the
// command line, and unit tests the source.
// A patch that does not fit any more fails here by its name, so that none of them can rot.

import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Edit, FinderName, Patch } from './patches.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Below node_modules, so that the packages are found from there; git and the linters look away. */
const place = join(root, 'node_modules/.cache/holdfast-controls');

const shipped = process.env['HOLDFAST_BUILD'] ?? join(root, 'dist');

export class ScratchBuild implements Disposable {
  /** Takes the place of dist/. */
  readonly folder: string;
  readonly #home: string;
  /** What stood in the files that were changed. */
  readonly #before = new Map<string, string>();
  #isKept = false;

  /** A copy for this finder, without a bug so far. */
  constructor(finder: FinderName) {
    const isSource = finder === 'tests';
    mkdirSync(place, { recursive: true });
    // Without links on the way: a module that is found by two paths would be two modules.
    this.#home = mkdtempSync(join(realpathSync(place), `${finder}-`));
    this.folder = isSource ? this.#home : join(this.#home, 'dist');
    if (isSource) {
      copySource(this.folder);
      return;
    }
    const isModules = finder === 'simulation';
    const from = isModules ? shipped : join(shipped, 'cli');
    cpSync(from, isModules ? this.folder : join(this.folder, 'cli'), {
      recursive: true,
      filter: (path) =>
        !/\.(?:map|d\.ts)$/.test(path) && !(isModules && relative(shipped, path) === 'cli'),
    });
    // The command line reads its version from here, and node that these are modules.
    copyFileSync(join(root, 'package.json'), join(this.#home, 'package.json'));
  }

  /** The files that were changed. Throws if the patch does not fit. */
  plant(patch: Patch): readonly string[] {
    return patch.edits.map((edit) => {
      const found = this.#filesOf(patch).flatMap((file) => timesIn(file, edit.find));
      const [file] = found;
      if (file === undefined || found.length > 1) throw unfit(patch, edit, found.length);
      const text = readFileSync(file, 'utf8');
      if (!this.#before.has(file)) this.#before.set(file, text);
      writeFileSync(
        file,
        text.replace(edit.find, () => edit.replace),
      );
      return file;
    });
  }

  /** Without a bug again. */
  restore(): void {
    for (const [file, text] of this.#before) writeFileSync(file, text);
    this.#before.clear();
  }

  /** For somebody who wants to look at it. */
  keep(): void {
    this.#isKept = true;
  }

  [Symbol.dispose](): void {
    if (this.#isKept) return;
    rmSync(this.#home, { recursive: true, force: true });
  }

  /** Where its edits must be: in the file or its module, or anywhere in the bundle. */
  #filesOf({ file, foundBy }: Patch): readonly string[] {
    if (foundBy === 'tests') return [join(this.folder, file)];
    if (foundBy === 'simulation') {
      return [join(this.folder, file.replace(/^src\//, '').replace(/\.ts$/, '.js'))];
    }
    const bundle = join(this.folder, 'cli');
    const isCode = (name: string) => name.endsWith('.js');
    return readdirSync(bundle)
      .filter(isCode)
      .map((name) => join(bundle, name));
  }
}

function copySource(folder: string): void {
  const isCode = (path: string) => !path.endsWith('.test.ts');
  cpSync(join(root, 'src'), join(folder, 'src'), { recursive: true, filter: isCode });
}

/** The file, once for each time that the text stands in it. */
function timesIn(file: string, text: string): readonly string[] {
  return readFileSync(file, 'utf8')
    .split(text)
    .slice(1)
    .map(() => file);
}

function unfit({ id, file }: Patch, { find }: Edit, times: number): Error {
  return new Error(
    `the patch ${id} does not fit what is built from ${file} any more: this stands there ${times} times instead of once: ${find}`,
  );
}
