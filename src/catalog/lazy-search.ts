// The search over tools, loaded when somebody first searches: its index is a library of its own.

import { loadedOnce } from '../kernel/loaded-once.ts';

export const loadSearch = loadedOnce(() => import('./search.ts'));
