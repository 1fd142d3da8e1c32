// Loads a configuration: finds the file, reads it, and applies the rules for its kind. This is the
// only file of config/ that reads from disk. Every refusal is a Fault `invalid_request` whose
// detail names the file, the place and the next step, one line for each problem.

import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { readNamedFile } from '../kernel/bounded-file.ts';
import { Fault } from '../kernel/fault.ts';
import { FileTooLarge } from '../kernel/file-too-large.ts';
import { ownValue } from '../kernel/own-value.ts';
import { homeOf } from './config-path.ts';
import { documentFrom, parseDocument } from './document.ts';
import { joinedStates, stateOfFile } from './file-state.ts';
import { foreignConfig, type ReadText } from './foreign-config.ts';
import type { LoadedConfig } from './loaded.ts';
import { configFileName, isSafeToFind, locateConfig } from './locate.ts';
import { ownConfig, storeIn } from './own-config.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface LoadRequest {
  /** The file named by `--config`, if it was given. */
  readonly file?: string | undefined;
  readonly cwd: string;
  readonly env: Environment;
}

/** A config from a file, with all files that were read for it. */
export interface ReadConfig extends LoadedConfig {
  readonly files: readonly string[];
  /** Of these files, as they were when they were read: what `stateOfFiles` returns until one changes. */
  readonly state: string;
  /** Of the very bytes of the config file that were parsed; files that it names are not part of it. */
  readonly sha256: string;
}

/** Finds and reads the config file. */
export function loadConfig({ file: named, cwd, env }: LoadRequest): ReadConfig {
  const file = findFile(named, cwd, env);
  const from = named === undefined ? 'HOLDFAST_CONFIG' : '--config';
  const files = [file];
  // Looked at before it is read: a change meanwhile is noticed.
  const states = [stateOfFile(file)];
  const reading: ReadText = (name) => {
    files.push(name);
    states.push(stateOfFile(name));
    return readHashed(name);
  };
  // Read once: what is approved by its hash must be what is used.
  const { text, sha256 } = textOf(file, from);
  return { ...read(file, text, env, reading), files, state: joinedStates(states), sha256 };
}

function read(file: string, text: string, env: Environment, reading: ReadText): LoadedConfig {
  const document = parseDocument(text, file);
  const folder = dirname(file);
  const variables = { env, folder, home: homeOf(env), inputs: new Map<string, string>() };
  if (basename(file) === configFileName) return ownConfig(document, file, variables);
  return foreignConfig(document, file, { ...variables, folder: projectOf(folder) }, reading);
}

/** The same for a program that passes its configuration as an object. */
export function configFromObject(
  input: unknown,
  { baseDir, env }: { readonly baseDir: string; readonly env: Environment },
): LoadedConfig {
  const variables = { env, folder: baseDir, home: homeOf(env), inputs: new Map<string, string>() };
  return ownConfig(documentFrom(input), null, variables);
}

/** The file that is meant, whether it can be used or not; undefined if there is none to be found. */
export function locatedConfig(
  named: string | undefined,
  cwd: string,
  env: Environment,
): string | undefined {
  const location = locateConfig(named, { cwd, env, home: homeOf(env) }, isFile);
  return location.kind === 'absent' ? undefined : location.file;
}

/** What a file says of its store, also if the rest of it cannot be used. */
export function storeNamedIn(file: string, env: Environment): string {
  const read = readHashed(file);
  if (read.kind === 'failed' || basename(file) !== configFileName) return 'sqlite';
  try {
    const inputs = new Map<string, string>();
    const variables = { env, folder: dirname(file), home: homeOf(env), inputs };
    return storeIn(parseDocument(read.text, file).value, variables);
  } catch (error) {
    if (error instanceof Fault) return 'sqlite';
    throw error;
  }
}

function findFile(named: string | undefined, cwd: string, env: Environment): string {
  const location = locateConfig(named, { cwd, env, home: homeOf(env) }, isFile);
  if (location.kind === 'absent') {
    throw new Fault(
      'invalid_request',
      `no ${configFileName} found: looked in ${cwd}, the folders above it and ${location.looked.at(-1)}; create one, or name a file with --config FILE`,
    );
  }
  const { kind, file } = location;
  if (kind === 'found' && !isSafeToFind(statSync(file), process.getuid?.())) {
    throw new Fault(
      'invalid_request',
      `${file} belongs to another user or can be written by everyone, so it is not used: if you trust it, name it with --config ${file}`,
    );
  }
  return file;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** `from` says who has named the file. */
function textOf(file: string, from: string): Hashed {
  const read = readHashed(file);
  if (read.kind === 'text') return read;
  const missing = `there is no such file; check the path given by ${from}`;
  const known = read.code === 'ENOENT' ? missing : ownValue(reasons, read.code);
  const reason = known ?? `it cannot be read (${read.code})`;
  throw new Fault('invalid_request', `${file}: ${reason}`);
}

const reasons: Readonly<Record<string, string>> = {
  EISDIR: 'this is a directory; name the file in it',
  EFBIG: 'it is larger than 64 MiB; check its content, or name another file with --config FILE',
  EACCES: 'permission denied; make the file readable for this user',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8 text; save it as UTF-8',
};

/**
 * Clients keep more than servers in their files, such as conversations; 20,000 servers are 3 MB.
 */
const maxFileBytes = 67_108_864;

interface Hashed {
  readonly text: string;
  /** Of the bytes that the text was decoded from. */
  readonly sha256: string;
}

type Failed = Extract<ReturnType<ReadText>, { kind: 'failed' }>;

function readHashed(file: string): (Hashed & { readonly kind: 'text' }) | Failed {
  try {
    const bytes = readNamedFile(file, maxFileBytes);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { kind: 'text', text, sha256: createHash('sha256').update(bytes).digest('hex') };
  } catch (error) {
    if (error instanceof FileTooLarge) return { kind: 'failed', code: 'EFBIG' };
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
    if (code === undefined) throw error;
    return { kind: 'failed', code };
  }
}

/** Clients keep a project's file in a folder such as .vscode or .cursor: the project is above it. */
function projectOf(folder: string): string {
  return basename(folder).startsWith('.') ? dirname(folder) : folder;
}
