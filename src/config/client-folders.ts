// Servers that run in the folders of their clients: `cwd` is the word "client", and `${workspaceFolder}` in
// their entry is the folder of the client that they are started for. A folder of that name is written as
// "./client".

import { basename } from 'node:path';

/**
 * What stands for the folder of the client, and for its last part, in such an entry once it has been read.
 * Nobody writes these characters, so that a literal `${workspaceFolder}`, or one in the value of a
 * variable, stays what it is.
 */
export const folderMarks = {
  path: '\u{E000}workspaceFolder\u{E000}',
  name: '\u{E000}workspaceFolderBasename\u{E000}',
} as const;

const marks = /\u{E000}workspaceFolder(Basename)?\u{E000}/gu;

/** With the folder in the place of the marks; what it is called is not read again. */
export function inFolder(text: string, folder: string): string {
  return text.replace(marks, (_mark, isName?: string) =>
    isName === undefined ? folder : basename(folder),
  );
}

/** The value of `cwd`. */
export const clientCwd = 'client';

export function runsInFolders(server: {
  readonly type?: string | undefined;
  readonly cwd?: unknown;
}): boolean {
  return server.type === 'stdio' && server.cwd === clientCwd;
}
