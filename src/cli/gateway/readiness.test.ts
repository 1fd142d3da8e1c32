// When a gateway says that it is ready.

import { describe, expect, it } from 'vitest';
import { readinessOf } from './readiness.ts';

describe('a gateway', () => {
  it('is ready while it takes work, without a shared store #replicas', () => {
    let isAccepting = true;
    const readiness = readinessOf({ isAccepting: () => isAccepting });
    expect(readiness()).toEqual({ ready: true });
    isAccepting = false;
    expect(readiness()).toEqual({ ready: false });
  });

  it('is ready once its shared store was reached, and stays so while that is away #replicas', () => {
    let isUsable = false;
    let isAccepting = true;
    const readiness = readinessOf({
      isAccepting: () => isAccepting,
      isStoreUsable: () => isUsable,
    });
    expect(readiness()).toEqual({ ready: false, store: 'failing' });
    isUsable = true;
    expect(readiness()).toEqual({ ready: true });
    isUsable = false;
    expect(readiness()).toEqual({ ready: true, store: 'failing' });
    isAccepting = false;
    expect(readiness()).toEqual({ ready: false, store: 'failing' });
  });

  it('is ready with a shared store of which something is missing since before it was started #replicas', () => {
    let isReached = false;
    const readiness = readinessOf({
      isAccepting: () => true,
      isStoreUsable: () => false,
      isStoreReached: () => isReached,
    });
    expect(readiness()).toEqual({ ready: false, store: 'failing' });
    isReached = true;
    expect(readiness()).toEqual({ ready: true, store: 'failing' });
  });
});
