// Which facts about a server's eras its next start uses. Stored facts may be wrong: an exit at
// `initialize` may have been a crash and not a sign of the era, and an updated server may support
// another one. So a start that fails with the stored facts is followed by one that ignores them,
// and the other way round: what a new host would reach is reached by this one too. A pure decision;
// facts and outcomes of starts are passed in.

export interface EraBasis {
  /**
   * It exited, or stayed silent, when it was sent `initialize`: the next start treats it as modern.
   */
  readonly hasNotInitialized: boolean;
  /** The last start failed with the stored facts: the next one begins without them. */
  readonly isDoubted: boolean;
  /** No start has succeeded since the last one that failed. */
  readonly hasFailed: boolean;
  /** Of this basis: whatever changes it has the next number. */
  readonly serial: number;
}

export const firstBasis: EraBasis = {
  hasNotInitialized: false,
  isDoubted: false,
  hasFailed: false,
  serial: 0,
};

export type EraBasisEvent =
  | { readonly kind: 'not-initialized' }
  /** The server has answered something about its eras. */
  | { readonly kind: 'answered'; readonly isAboutLegacy: boolean; readonly isNew: boolean }
  /** A start failed, and no connection is left; `serial` is that of the basis it began with. */
  | { readonly kind: 'start-failed'; readonly serial: number }
  | { readonly kind: 'connected' }
  | { readonly kind: 'last-connection-ended' };

export function eraBasisStep(basis: EraBasis, event: EraBasisEvent): EraBasis {
  switch (event.kind) {
    case 'not-initialized':
      return basis.hasNotInitialized ? basis : next(basis, { hasNotInitialized: true });
    case 'answered':
      return answered(basis, event.isAboutLegacy, event.isNew);
    case 'start-failed':
      // What was learnt while it ran has not been tried yet.
      if (event.serial !== basis.serial) return { ...basis, hasFailed: true };
      return next(basis, {
        hasNotInitialized: false,
        isDoubted: !basis.isDoubted,
        hasFailed: true,
      });
    case 'connected':
      return basis.hasFailed ? { ...basis, hasFailed: false } : basis;
    case 'last-connection-ended':
      // What was only assumed is determined again by the next connection.
      return basis.hasNotInitialized ? next(basis, { hasNotInitialized: false }) : basis;
  }
}

function answered(basis: EraBasis, isAboutLegacy: boolean, isNew: boolean): EraBasis {
  const hasNotInitialized = basis.hasNotInitialized && !isAboutLegacy;
  const isSame = hasNotInitialized === basis.hasNotInitialized && !basis.isDoubted;
  return isSame && !isNew ? basis : next(basis, { hasNotInitialized, isDoubted: false });
}

function next(basis: EraBasis, changes: Partial<EraBasis>): EraBasis {
  return { ...basis, ...changes, serial: basis.serial + 1 };
}
