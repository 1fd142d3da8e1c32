// The calls on files that fault injection covers. A call that the source uses and that is not here, or
// among those that change nothing in the state directory, has to be learned by preload.mjs.

/** Functions of node:fs/promises. */
export const coveredCalls = [
  'access',
  'chmod',
  'link',
  'lstat',
  'mkdir',
  'open',
  'readFile',
  'readdir',
  'readlink',
  'rename',
  'rm',
  'stat',
  'symlink',
  'unlink',
  'writeFile',
];

/** Methods of a FileHandle that change a file. */
export const coveredMethods = ['write', 'writeFile', 'truncate', 'datasync', 'sync'];
