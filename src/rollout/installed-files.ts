// The installed files of this program, as one text that is another one when a version was installed: name, device,
// inode, size and time of change of the bundle's files and of package.json. A file that is missing means that an
// installation is under way. The path that the program was started by is followed anew each time, so that a link
// that leads to another version is a change, too. Nothing is read but the directory.

import { type BigIntStats, realpathSync, statSync } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ignored } from '../kernel/contain.ts';
import { errnoOf } from '../kernel/errno.ts';

export type InstalledLook =
  | { readonly kind: 'print'; readonly print: string }
  | { readonly kind: 'missing' }
  /** They cannot be looked at: a code of the system. */
  | { readonly kind: 'unreadable'; readonly cause: string };

/** A bundle has about a hundred; of a folder with more, the first by name count. */
const maxFiles = 500;
const absent: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR']);

export class InstalledFiles {
  /** As it was given: it may be a link. */
  readonly #path: string;
  /** Where it led when this process was started; undefined: nowhere any more. */
  readonly #real: string | undefined;
  /** Of these few, as they were when the program was last seen to be the same as at the start. */
  #marks: string;
  /** Of the files at the start, once they were looked at. */
  #print: string | undefined;
  #last: { readonly marks: string; readonly look: InstalledLook } | undefined;

  /** `path` is the file that the program was started by (main.js). */
  constructor(path: string) {
    this.#path = path;
    this.#real = realPathOf(path);
    this.#marks = marksNow(path);
  }

  /**
   * Rejects only with a defect. A `brief` look takes the last one for still right if main.js, its folder and
   * package.json are as they were: the other files are written before or after them.
   */
  async look(isBrief = false): Promise<InstalledLook> {
    try {
      const main = await realpath(this.#path);
      const folder = dirname(main);
      const marks = await textsOf([main, folder, join(folder, '..', '..', 'package.json')]);
      if (isBrief && this.#last?.marks === marks) return this.#last.look;
      const names = (await readdir(folder)).filter((name) => /\.[cm]?js$/.test(name)).sort();
      const paths = names.slice(0, maxFiles).map((name) => join(folder, name));
      const [, , packageText] = marks.split('\n');
      const print = [packageText, await textsOf([main, ...paths])].join('\n');
      const look = { kind: 'print', print } as const;
      // Something else was written to the folder.
      if (print === this.#print) this.#marks = marks;
      this.#print ??= print;
      this.#last = { marks, look };
      return look;
    } catch (error) {
      this.#last = undefined;
      const code = errnoOf(error);
      if (code === undefined) throw error;
      return absent.has(code) ? { kind: 'missing' } : { kind: 'unreadable', cause: code };
    }
  }

  /**
   * Whether main.js, its folder or package.json are others than when the program was last seen to be the same as at the
   * start, or are missing. Answers at once.
   */
  get hasChanged(): boolean {
    return marksNow(this.#path) !== this.#marks;
  }

  /** The path leads to the same file as at the start, and that is there. */
  get isLaunchPathStable(): boolean {
    return this.#real !== undefined && realPathOf(this.#path) === this.#real;
  }
}

/** The files as this process was started from them. */
export interface InstalledAtStart {
  readonly files: InstalledFiles;
  readonly look: Promise<InstalledLook>;
}

/** To be asked for before most of the program is loaded: what is installed after that is another version. */
export function installedAtStart(path: string): InstalledAtStart {
  const files = new InstalledFiles(path);
  const look = files.look();
  // Whoever uses it is told.
  look.catch(ignored);
  return { files, look };
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** Why there are none, if that is so. */
function marksNow(path: string): string {
  try {
    const main = realpathSync(path);
    const folder = dirname(main);
    const files = [main, folder, join(folder, '..', '..', 'package.json')];
    return files.map((file) => textOf(file, statSync(file, { bigint: true }))).join('\n');
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined) throw error;
    return code;
  }
}

/** A line for each. */
async function textsOf(files: readonly string[]): Promise<string> {
  const states = files.map(async (file) => textOf(file, await stat(file, { bigint: true })));
  return (await Promise.all(states)).join('\n');
}

function textOf(file: string, { dev, ino, size, mtimeNs }: BigIntStats): string {
  return [file, dev, ino, size, mtimeNs].join(' ');
}
