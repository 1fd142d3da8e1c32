// What the store and its worker thread send each other.

import type { Findings } from './open-database.ts';
import type { StoreOperation, StoreOutcome } from './operation.ts';

export type ToWorker =
  | {
      readonly kind: 'apply';
      readonly batch: number;
      readonly operations: readonly StoreOperation[];
    }
  | { readonly kind: 'close' };

/** Why there is no database. */
export type OpenFailure = 'missing' | 'newer' | 'foreign' | 'unsafe' | 'unusable';

export type FromWorker =
  | { readonly kind: 'opened'; readonly driver: string; readonly findings: Findings }
  | {
      readonly kind: 'failed';
      readonly why: OpenFailure;
      readonly detail: string;
      readonly code: string | null;
    }
  | { readonly kind: 'applied'; readonly batch: number; readonly outcomes: readonly StoreOutcome[] }
  | { readonly kind: 'closed' };
