// Every feature, from every kind of client, through the gateway to a modern server over HTTP.

import { serverKind } from './fixture-server.ts';
import { matrixOf } from './matrix.ts';

matrixOf(serverKind('sdk-2-modern', 'http'));
