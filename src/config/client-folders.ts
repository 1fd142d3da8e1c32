// Servers that run in the folders of their clients: `cwd` is the word "client", and `${workspaceFolder}` in
// their entry is the folder of the client that they are started for. A folder of that name is written as
// "./client".

const variable = (name: string) => `\${${name}}`;

/** What stands for the folder of the client, and for its last part, in such an entry. */
export const folderVariables = {
  path: variable('workspaceFolder'),
  name: variable('workspaceFolderBasename'),
} as const;

/** The value of `cwd`. */
export const clientCwd = 'client';

export function runsInFolders(server: {
  readonly type?: string | undefined;
  readonly cwd?: unknown;
}): boolean {
  return server.type === 'stdio' && server.cwd === clientCwd;
}
