// The embedded broker with its WebSockets passes the suite; its store is kept in memory over restarts here (the
// database has the integration tests).

import { brokerSuite } from '../../../test/support/broker-suite/broker-suite.ts';
import { startEmbeddedBroker } from '../../../test/support/embedded-broker.ts';

brokerSuite({ name: 'the embedded broker', start: () => startEmbeddedBroker() });
