// The faulty server is what other tests judge us by, so it is judged first: every tool, every fault
// and both protocol eras, with bare pipes and plain HTTP, and with the official clients as proof
// that without a fault it is an ordinary MCP server. The parts stand beside the server.

import { describe } from 'vitest';
import { answerTests } from '../fixtures/servers/faulty/self-test/answers.ts';
import { catalogueTests } from '../fixtures/servers/faulty/self-test/catalogue.ts';
import { descriptionTests } from '../fixtures/servers/faulty/self-test/description.ts';
import { eraTests } from '../fixtures/servers/faulty/self-test/eras.ts';
import { httpTests } from '../fixtures/servers/faulty/self-test/http.ts';
import { lifeTests } from '../fixtures/servers/faulty/self-test/life.ts';
import { officialClientTests } from '../fixtures/servers/faulty/self-test/official-clients.ts';
import { processTests } from '../fixtures/servers/faulty/self-test/processes.ts';
import { toolTests } from '../fixtures/servers/faulty/self-test/tools.ts';

describe('the tools', toolTests);
describe('the eras', eraTests);
describe('faults of life and time', lifeTests);
describe('faults of the answer', answerTests);
describe('faults of the streams and the process', processTests);
describe('faults of the catalogue', catalogueTests);
describe('plain HTTP', httpTests);
describe('the official clients', officialClientTests);
describe('the description', descriptionTests);
