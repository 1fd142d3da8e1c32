// A shortage of our own: this process or this machine has no more descriptors, processes or memory.
// It says nothing about the server that was to be started or reached, so it is a fault of its own
// kind (`overloaded`), trips no breaker and spends nobody's restart budget. Told by the code of the
// system error alone.

const shortages: ReadonlyMap<unknown, string> = new Map([
  ['EMFILE', 'this host has too many open files'],
  ['ENFILE', 'this machine has too many open files'],
  ['EAGAIN', 'this user may not start more processes'],
  ['ENOMEM', 'this machine is out of memory'],
  ['ENOBUFS', 'this machine is out of network buffers'],
]);

/** The shortage in words, with its code; undefined for any other error. */
export function shortageOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  const words = shortages.get(error.code);
  return words && `${words} (${String(error.code)})`;
}
