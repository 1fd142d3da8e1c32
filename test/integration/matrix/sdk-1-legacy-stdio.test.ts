// Every feature, from every kind of client, through the gateway to a legacy server of the SDK 1 over stdio.

import { describe } from 'vitest';
import { serverKind } from './fixture-server.ts';
import { matrixOf } from './matrix.ts';

describe('clients of both eras #gateway-eras #all-of-mcp', () =>
  matrixOf(serverKind('sdk-1-legacy', 'stdio')));
