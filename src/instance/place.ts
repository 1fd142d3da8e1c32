// Where the instance of a config keeps what is its own: a folder below the state directory, found by the
// config's real path, with the lock, the control socket and the database. The address of a Unix socket
// is limited to about a hundred bytes, so that a long path uses the user's runtime directory instead.

import { isAbsolute, join } from 'node:path';
import { digestOf, stateFolderOf } from '../config/state-folder.ts';
import { Fault } from '../kernel/fault.ts';

export interface InstancePlace {
  /** The real path of the config. */
  readonly config: string;
  /** For this user only. */
  readonly folder: string;
  readonly socket: string;
  readonly database: string;
}

/** macOS takes 103 bytes and a zero, Linux a few more. */
const maxSocketBytes = 100;

export function instancePlace(
  stateDir: string,
  config: string,
  env: Readonly<Record<string, string | undefined>>,
): InstancePlace {
  const folder = stateFolderOf(stateDir, config);
  const usual = join(folder, 'control.sock');
  const isShort = Buffer.byteLength(usual) <= maxSocketBytes;
  const socket = isShort ? usual : shortSocket(usual, env['XDG_RUNTIME_DIR']);
  return { config, folder, socket, database: join(folder, 'state.db') };
}

function shortSocket(usual: string, runtimeDir: string | undefined): string {
  const folder = runtimeDir !== undefined && isAbsolute(runtimeDir) ? runtimeDir : undefined;
  const short = folder && join(folder, 'holdfast', `${digestOf(usual)}.sock`);
  if (short !== undefined && Buffer.byteLength(short) <= maxSocketBytes) return short;
  throw new Fault(
    'invalid_request',
    `${usual} is too long for a socket (${maxSocketBytes} bytes at most) and XDG_RUNTIME_DIR is not set to a shorter directory; set HOLDFAST_STATE to a shorter one`,
  );
}
