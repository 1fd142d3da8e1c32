// The servers and clients of the matrix without a gateway between them: whatever fails here is a fault
// of the fixtures.

import { describe } from 'vitest';
import { serverKinds } from './fixture-server.ts';
import { bareCellsOf } from './matrix.ts';

for (const server of serverKinds) describe(server.title, () => bareCellsOf(server));
