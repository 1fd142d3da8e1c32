// Resource shortages of the host itself: this process or this machine has no more descriptors,
// processes or memory. Such an error says nothing about the server that was to be started or
// reached, so it is a fault of its own kind (`overloaded`), does not trip a breaker and does not
// use up a restart budget. It is recognised by the code of the system error only.

const shortages: ReadonlyMap<unknown, string> = new Map([
  ['EMFILE', 'this host has too many open files'],
  ['ENFILE', 'this machine has too many open files'],
  ['EAGAIN', 'this user may not start more processes'],
  ['ENOMEM', 'this machine is out of memory'],
  ['ENOBUFS', 'this machine is out of network buffers'],
]);

/** Whether this process or this machine has no descriptor left for another file, by the code of the error. */
export function isOutOfFiles(code: string | null): boolean {
  return code === 'EMFILE' || code === 'ENFILE';
}

/** The shortage as text, with its code; undefined for any other error. */
export function shortageOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  const words = shortages.get(error.code);
  return words && `${words} (${String(error.code)})`;
}
