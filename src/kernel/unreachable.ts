// Why a server could not be reached, by the code of the system error, and what to do about it.

const causes: ReadonlyMap<string | undefined, string> = new Map([
  ['ENOTFOUND', 'the host name is not known here; correct the address'],
  ['EAI_AGAIN', 'the host name cannot be looked up now; check the network, or correct the address'],
  ['EHOSTUNREACH', 'there is no route to that host; check the network, or correct the address'],
  ['ENETUNREACH', 'there is no route to that network; check the network, or correct the address'],
]);

/** `program`: what should listen there, and how it is started. */
export function unreachableWords(url: string, code: string | undefined, program: string): string {
  const words =
    code === 'ECONNREFUSED'
      ? `nothing listens there; start ${program}, or correct the address`
      : (causes.get(code) ?? 'check the address and the network');
  return `${url} cannot be reached (${code ?? 'it was closed'}): ${words}`;
}
