// Another version of the program, as an installation brings it: a copy of the build with another version number, whose
// files have other names, because the name of each has a hash of what it contains. It can read another form of
// snapshots, or know another form of the channel to the pid-holder, than this version does.

import { cp, mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { buildFolder } from './build.ts';

export interface OtherVersion {
  readonly version: string;
  /** What else is different; nothing, if absent. */
  readonly form?: 'snapshot' | 'channel';
}

const repository = resolve(import.meta.dirname, '../..');

/** What is written otherwise, in exactly one place each. */
const forms: Readonly<Record<'snapshot' | 'channel', readonly (readonly [string, string])[]>> = {
  snapshot: [['var snapshotVersion = 1;', 'var snapshotVersion = 2;']],
  channel: [
    ['var channelVersion = 1;', 'var channelVersion = 2;'],
    ['/^1:([1-9]', '/^2:([1-9]'],
  ],
};

export async function builtOtherwise(
  folder: string,
  { version, form }: OtherVersion,
): Promise<void> {
  const from = join(buildFolder, 'cli');
  const to = join(folder, 'dist', 'cli');
  await mkdir(to, { recursive: true });
  const edits = (form === undefined ? [] : forms[form]).map((edit) => ({ edit, times: 0 }));
  for (const name of await readdir(from)) {
    if (name.endsWith('.map')) continue;
    if (!name.endsWith('.js')) {
      await cp(join(from, name), join(to, name), { recursive: true });
      continue;
    }
    let text = await readFile(join(from, name), 'utf8');
    for (const one of edits) {
      const parts = text.split(one.edit[0]);
      one.times += parts.length - 1;
      text = parts.join(one.edit[1]);
    }
    await writeFile(join(to, renamed(name, version)), renamed(text, version));
  }
  const missed = edits.filter(({ times }) => times !== 1);
  if (missed.length > 0) throw new Error(`not once in the build: ${missed[0]?.edit[0]}`);
  const about = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as object;
  await writeFile(join(folder, 'package.json'), JSON.stringify({ ...about, version }));
  await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
}

/** Each name of a file with a hash in it is another one. */
function renamed(text: string, version: string): string {
  return text.replaceAll(/\b([\w-]+-[A-Z0-9]{8})\.js\b/g, `$1-${version}.js`);
}

/** As an installer does it: what was there goes to `away`, what is at `from` comes, and for a moment there is nothing. */
export async function exchanged(program: string, from: string, away: string): Promise<void> {
  await rename(program, away);
  await rename(from, program);
}
