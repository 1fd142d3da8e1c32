// Finds the file that is executed for a command of the config, before anything is started: a spawn
// that fails late gives ENOENT, and the user would have to guess whether the command, the directory
// or the interpreter was missing. No shell is involved. Every refusal is one line with the name and
// the cause.

import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';
import { Fault } from '../../../kernel/fault.ts';
import { shortageOf } from '../../../kernel/shortage.ts';
import { ClientAsked } from '../../client-asked.ts';

export interface CommandQuery {
  /** The server's name, for the fault. */
  readonly server: string;
  readonly command: string;
  /** Absolute. */
  readonly cwd: string;
  /** That is the folder of a client, not of the config. */
  readonly isClientFolder?: boolean | undefined;
  /** The PATH of the child. */
  readonly path: string | undefined;
}

/** The absolute path of the executable file. Throws a Fault: `unavailable`, or `invalid_request` for a client's folder. */
export async function resolveCommand(query: CommandQuery): Promise<string> {
  await assertDirectory(query);
  const file = query.command.includes('/') ? await named(query) : await searched(query);
  await assertInterpreter(query, file);
  return file;
}

/** What execvp searches when there is no PATH. */
const defaultPath = '/usr/local/bin:/usr/bin:/bin';

type Finding = 'executable' | 'not executable' | 'a directory' | 'missing';

async function assertDirectory({ server, cwd, isClientFolder }: CommandQuery): Promise<void> {
  const finding = await examine(cwd);
  if (finding === 'a directory') return;
  const cause = finding === 'missing' ? 'does not exist' : 'is not a directory';
  if (isClientFolder === true) {
    // What its client asks for cannot be done; the server has not failed.
    const detail = `${server} runs in the folder of its client (cwd: "client" in the config), and ${cwd} ${cause}`;
    throw new Fault('invalid_request', detail, { server, dispatched: 'no' }, new ClientAsked());
  }
  throw refusal(server, `the working directory '${cwd}' ${cause}: correct "cwd" of '${server}'`);
}

/** A command with a slash is a file, relative to the working directory. */
async function named({ server, command, cwd }: CommandQuery): Promise<string> {
  const file = resolve(cwd, command);
  const finding = await examine(file);
  if (finding === 'executable') return file;
  if (finding === 'missing') throw refusal(server, `the command '${file}' does not exist`);
  throw unusable(server, file, finding);
}

async function searched({ server, command, cwd, path }: CommandQuery): Promise<string> {
  const searchedPath = path ?? defaultPath;
  let nearest: readonly [string, Finding] | undefined;
  for (const entry of command === '' ? [] : searchedPath.split(delimiter)) {
    // An empty entry means the working directory, as for execvp.
    const file = resolve(cwd, entry, command);
    const finding = await examine(file);
    if (finding === 'executable') return file;
    if (finding !== 'missing') nearest ??= [file, finding];
  }
  if (nearest !== undefined) throw unusable(server, ...nearest);
  const local = (await examine(resolve(cwd, command))) !== 'missing' && command !== '';
  const hint = local ? `; '${cwd}' has a file of that name: write './${command}'` : '';
  const where = shownPath(searchedPath);
  throw refusal(server, `the command '${command}' was not found on PATH: ${where}${hint}`);
}

/** A script whose interpreter is missing fails with the same errno as a missing script. */
async function assertInterpreter({ server }: CommandQuery, file: string): Promise<void> {
  const interpreter = await interpreterOf(file);
  if (interpreter === undefined || (await examine(interpreter)) === 'executable') return;
  throw refusal(server, `'${file}' needs the interpreter '${interpreter}', which does not exist`);
}

/** The longest first line that Linux reads. */
const shebangBytes = 256;

async function interpreterOf(file: string): Promise<string | undefined> {
  try {
    const handle = await open(file, 'r');
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(shebangBytes), 0, shebangBytes);
      const line = buffer.toString('latin1', 0, bytesRead);
      return /^#![ \t]*(\/[^\s]*)/.exec(line)?.[1];
    } finally {
      await handle.close();
    }
  } catch {
    // A program may be executable without being readable: then there is nothing to check.
    return undefined;
  }
}

async function examine(file: string): Promise<Finding> {
  try {
    if ((await stat(file)).isDirectory()) return 'a directory';
  } catch (error) {
    if (shortageOf(error) !== undefined) throw error;
    // Missing, or in a directory that we may not enter: both count as missing.
    return 'missing';
  }
  return access(file, constants.X_OK).then(
    () => 'executable',
    () => 'not executable',
  );
}

function unusable(server: string, file: string, finding: Finding): Fault {
  if (finding === 'a directory') {
    return refusal(server, `the command '${file}' is a directory, not a program`);
  }
  return refusal(server, `the command '${file}' is not executable: try chmod +x '${file}'`);
}

/** As much of a PATH as fits into one line of a message; some have hundreds of folders. */
const longestShownPath = 120;

/** Each folder once, and how many there are where not all are shown. */
function shownPath(path: string): string {
  const folders = [...new Set(path.split(delimiter))];
  let shown = folders[0] ?? '';
  for (const folder of folders.slice(1)) {
    if (shown.length + folder.length >= longestShownPath) {
      return `${shown.slice(0, longestShownPath)}${delimiter}… (${folders.length} folders)`;
    }
    shown += `${delimiter}${folder}`;
  }
  return shown;
}

/** A retry does not help: the config or the machine has to be changed. */
function refusal(server: string, detail: string): Fault {
  return new Fault('unavailable', detail, { server, dispatched: 'no', retryable: false });
}
