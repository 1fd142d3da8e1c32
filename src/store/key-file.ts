// The key of encrypted records, in a file of its own: beside the config and not in the state directory, so
// that a copy of the state alone opens nothing. It is made when it is first needed.

import { randomBytes } from 'node:crypto';
import { link, lstat, open, rm } from 'node:fs/promises';
import { readOwnFile } from '../kernel/bounded-file.ts';
import { errnoOf } from '../kernel/errno.ts';
import { fileFlaw, othersMay } from '../kernel/own-file.ts';

const secretBytes = 32;
const mostBytes = 1_024;

/** The key in this file, which is created if there is none. Throws an Error whose message says why not. */
export async function keyFrom(file: string): Promise<Buffer> {
  try {
    return await existingKey(file);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw asReason(file, error);
  }
  try {
    await makeKey(file);
    return await existingKey(file);
  } catch (error) {
    throw asReason(file, error);
  }
}

/** The key in this file; null if there is none. Throws an Error whose message says why it cannot be used. */
export async function storedKey(file: string): Promise<Buffer | null> {
  try {
    return await existingKey(file);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    throw asReason(file, error);
  }
}

async function existingKey(file: string): Promise<Buffer> {
  const flaw = fileFlaw(await lstat(file), othersMay.readOrChange);
  if (flaw !== undefined) throw new Error(`it ${flaw}; needed is a file of this user, chmod 600`);
  const text = (await readOwnFile(file, mostBytes)).toString('latin1').trim();
  if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, 'hex');
  throw new Error(`it does not hold a key of ${secretBytes} bytes in hexadecimal`);
}

/** It has its whole content from the first instant; of two processes at once one makes it. */
async function makeKey(file: string): Promise<void> {
  const draft = `${file}.${randomBytes(8).toString('hex')}.tmp`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(`${randomBytes(secretBytes).toString('hex')}\n`);
    await handle.sync();
    await link(draft, file);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  } finally {
    await handle.close();
    await rm(draft, { force: true });
  }
}

function asReason(file: string, error: unknown): Error {
  const why = errnoOf(error) ?? (error instanceof Error ? error.message : String(error));
  return new Error(`the key file ${file} cannot be used (${why})`, { cause: error });
}
