// A real nats-server with the config that the product prints passes the suite of brokers.

import { brokerSuite } from '../support/broker-suite/broker-suite.ts';
import { startNatsBroker } from '../support/nats-broker.ts';

brokerSuite({ name: 'NATS', start: startNatsBroker });
