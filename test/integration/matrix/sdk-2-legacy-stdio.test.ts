// Every feature, from every kind of client, through the gateway to a legacy server of the SDK 2 over stdio.

import { serverKind } from './fixture-server.ts';
import { matrixOf } from './matrix.ts';

matrixOf(serverKind('sdk-2-legacy', 'stdio'));
