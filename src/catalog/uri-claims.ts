// Which servers claim a URI, by listing it or by having returned it, as ranks of servers. When
// servers are added, removed or reordered, their ranks change, and with them every claim; the order
// among the remaining claims stays.

export interface Claims {
  /** Ranks of servers, the owner first. */
  readonly listers: number[];
  /** Ranks of servers, lowest first. */
  readonly returners: number[];
}

/** The same claims with new ranks: `rankOf` gives the new one, undefined for a removed server. */
export function reranked(
  claims: ReadonlyMap<string, Claims>,
  rankOf: (rank: number) => number | undefined,
): Map<string, Claims> {
  const moved = new Map<string, Claims>();
  for (const [key, { listers, returners }] of claims) {
    const now = {
      listers: listers.flatMap((rank) => rankOf(rank) ?? []),
      returners: returners.flatMap((rank) => rankOf(rank) ?? []).sort((a, b) => a - b),
    };
    if (now.listers.length + now.returners.length > 0) moved.set(key, now);
  }
  return moved;
}

interface Turns {
  listed: ReadonlyMap<string, number>;
  templateTurns: ReadonlyMap<string, number>;
}

/**
 * Gives each server turns of its own: what was decided by the ranks (the places in this list) among claims
 * of the same turn is decided by the turns alone from now on. The result is the first turn that is free.
 */
export function separateTurns(servers: readonly Turns[]): number {
  const taken = servers.flatMap(({ listed, templateTurns }, rank) =>
    [...new Set([...listed.values(), ...templateTurns.values()])].map((turn) => ({ turn, rank })),
  );
  taken.sort((a, b) => a.turn - b.turn || a.rank - b.rank);
  const byRank = servers.map(() => new Map<number, number>());
  for (const [place, { turn, rank }] of taken.entries()) byRank[rank]?.set(turn, place);
  for (const [rank, server] of servers.entries()) {
    const renumbered = (turns: ReadonlyMap<string, number>) =>
      new Map([...turns].map(([text, turn]) => [text, byRank[rank]?.get(turn) ?? turn]));
    server.listed = renumbered(server.listed);
    server.templateTurns = renumbered(server.templateTurns);
  }
  return taken.length;
}
