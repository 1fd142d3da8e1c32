// The credential for a broker, from the file that HOLDFAST_TOKEN_FILE or the config names: the secret and nothing
// else, in a file that no other user can read. It is read when the command starts.

import { lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { errnoOf } from '../../kernel/errno.ts';
import { Fault } from '../../kernel/fault.ts';
import { fileFlaw, othersMay } from '../../kernel/own-file.ts';
import { readSecretFile } from '../../kernel/secret-file.ts';
import type { Shell } from '../shell.ts';

export const tokenFileVariable = 'HOLDFAST_TOKEN_FILE';

const maxBytes = 8_192;

/** Throws a Fault that says what to do. */
export async function brokerCredential(
  { env, cwd }: Shell,
  configured: string | undefined,
): Promise<string> {
  const named = env[tokenFileVariable] || configured;
  if (named === undefined) {
    throw new Fault(
      'auth_required',
      `there is no credential for the broker; write the secret that holdfast token add has printed into a file, chmod 600, and name it with ${tokenFileVariable}`,
    );
  }
  const path = resolve(cwd, named);
  const flaw = flawOf(path);
  if (flaw !== undefined) throw unusable(path, flaw);
  const file = await readSecretFile(path, maxBytes);
  if (file.kind === 'unusable') throw unusable(path, file.cause);
  const secret = file.bytes.toString('utf8').trim();
  if (/^[\x21-\x7e]+$/.test(secret)) return secret;
  throw unusable(path, secret === '' ? 'is empty' : 'holds more than one word');
}

function flawOf(path: string): string | undefined {
  try {
    const flaw = fileFlaw(lstatSync(path), othersMay.readOrChange);
    return flaw === 'can be read by others' ? `${flaw}: chmod 600 ${path}` : flaw;
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? 'does not exist' : `cannot be read (${errnoOf(error)})`;
  }
}

function unusable(path: string, why: string): Fault {
  return new Fault('auth_required', `the credential for the broker: ${path} ${why}`);
}
