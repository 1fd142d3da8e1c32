// The NATS store passes the suite of every store, with a real server.

import { afterAll, beforeAll } from 'vitest';
import type { NatsServer } from '../support/nats-server.ts';
import { natsSubject, startPlainNats } from '../support/nats-store-place.ts';
import { storeSuite } from '../support/store-suite/store-suite.ts';

let server: NatsServer | undefined;
beforeAll(async () => {
  server = await startPlainNats();
});
afterAll(() => server?.[Symbol.asyncDispose]());

storeSuite(
  'the NATS store',
  natsSubject(() => server?.url ?? ''),
);
