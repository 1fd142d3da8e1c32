// The bytes of a config as `connect` needs them, which does not parse them: their text, for the variables that
// it names, and their hash, by which they are approved. Both are of one reading.

import { createHash } from 'node:crypto';
import { readNamedFile } from '../../kernel/bounded-file.ts';
import { errnoOf } from '../../kernel/errno.ts';
import { Fault } from '../../kernel/fault.ts';
import { FileTooLarge } from '../../kernel/file-too-large.ts';
import type { SeenConfig } from './trusted-configs.ts';

const maxFileBytes = 67_108_864;

export interface SeenText extends SeenConfig {
  readonly text: string;
}

/** Throws a Fault if it cannot be read. */
export function seenConfig(path: string): SeenText {
  try {
    const bytes = readNamedFile(path, maxFileBytes);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    return { path, sha256, text: bytes.toString('utf8') };
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined && !(error instanceof FileTooLarge)) throw error;
    const why = code === undefined ? 'it is too large' : code;
    throw new Fault('invalid_request', `${path} cannot be read (${why}); check the file`);
  }
}
