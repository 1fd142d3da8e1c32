import { serverKind } from './fixture-server.ts';
import { matrixOf } from './matrix.ts';

matrixOf(serverKind('sdk-2-modern', 'http'));
