// The calls on files that the weather covers. A call that the source uses and that is not here, or
// among those that change nothing in the state directory, has to be learned by disk-weather.mjs.

/** Functions of node:fs/promises. */
export const coveredCalls = [
  'access',
  'chmod',
  'lstat',
  'mkdir',
  'open',
  'readFile',
  'readdir',
  'rename',
  'rm',
  'stat',
  'unlink',
  'writeFile',
];

/** Methods of a FileHandle that change a file. */
export const coveredMethods = ['write', 'writeFile', 'truncate', 'datasync', 'sync'];
