// The official conformance suite, in the role of the client against the fixture and against the
// gateway in front of it, and in the role of the server behind the gateway. The fixture by itself
// is the measure: the gateway may neither lose nor gain a check in any scenario. Which scenarios do
// not apply to a gateway is said in the README.md beside this file. Most of its time the suite waits,
// so the subjects are tried side by side, each with a fixture of its own.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installSuite } from './installation.ts';
import { type Revision, requirementsOf } from './requirements.ts';
import {
  runClientScenario,
  runServerScenario,
  runServerSuite,
  type ScenarioResult,
} from './run-suite.ts';
import {
  bystanders,
  type Endpoint,
  fixtureOnStdio,
  skillsOnStdio,
  startFixture,
  startGateway,
  startSkills,
} from './servers.ts';

const suiteMs = 120_000;
const requiredScenarios = { '2026-07-28': 37, '2025-11-25': 30 } as const;
const revisions: readonly Revision[] = ['2026-07-28', '2025-11-25'];

/** Not scored: whether a server closes a stream in the middle of a call is its own choice. */
const ownChoice = 'server-sse-polling';

/** Its older tools push their questions, and on a modern connection nobody can be asked. */
const pushOnly = ['--push-only'];

let folder: string;

beforeAll(async () => {
  await installSuite();
  folder = await mkdtemp(join(tmpdir(), 'holdfast-bystanders-'));
}, 2 * suiteMs);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe.concurrent('the fixture by itself', () => {
  it.each(revisions)(
    'passes every scenario of %s, required or not',
    async (revision) => {
      const results = await bare(revision);
      expect(results.filter(({ isRequired }) => isRequired)).toHaveLength(
        requiredScenarios[revision],
      );
      expect(complaints(results)).toEqual([]);
    },
    suiteMs,
  );
});

describe.concurrent('the gateway in front of the fixture on HTTP #conformance', () => {
  behavesAsBare(onHttp());
});

describe.concurrent('the gateway in front of the fixture on stdio', () => {
  behavesAsBare(async () => ({ fixture: fixtureOnStdio() }));
});

describe.concurrent('a server of both eras that can ask on legacy connections only', () => {
  it.each(revisions)(
    'passes the same of %s by itself',
    async (revision) => {
      await using pushing = await startFixture(pushOnly);
      await passesAsBare(pushing, revision);
    },
    suiteMs,
  );

  describe('behind the gateway, on HTTP #conformance', () => {
    behavesAsBare(onHttp(pushOnly));
  });

  describe('behind the gateway, on stdio #conformance', () => {
    behavesAsBare(async () => ({ fixture: fixtureOnStdio(pushOnly) }));
  });
});

describe.concurrent('the gateway with three more servers behind it #conformance', () => {
  const fixture = onHttp();
  behavesAsBare(async () => ({ ...(await fixture()), ...(await bystanders(folder)) }));
});

const measures = new Map<Revision, Promise<readonly ScenarioResult[]>>();

/** What the fixture passes by itself, found out once. */
function bare(revision: Revision): Promise<readonly ScenarioResult[]> {
  const measure = measures.get(revision) ?? bareRun(revision);
  measures.set(revision, measure);
  return measure;
}

async function bareRun(revision: Revision): Promise<readonly ScenarioResult[]> {
  await using fixture = await startFixture();
  return await runServerSuite(fixture.url, revision);
}

type Servers = Parameters<typeof startGateway>[0];

/** A fixture on HTTP, for the describe block in which this is called. */
function onHttp(options: readonly string[] = []): () => Promise<Servers> {
  let fixture: Endpoint;
  afterAll(() => fixture?.[Symbol.asyncDispose]());
  return async () => {
    fixture = await startFixture(options);
    return { fixture: { type: 'http', url: fixture.url } };
  };
}

/** One after the other: both revisions are asked of one gateway. */
function behavesAsBare(servers: () => Promise<Servers>): void {
  let gateway: Endpoint;

  beforeAll(async () => {
    gateway = await startGateway(await servers());
  });

  afterAll(() => gateway?.[Symbol.asyncDispose]());

  it.sequential.each(revisions)(
    'passes what the fixture passes of %s, check by check',
    (revision) => passesAsBare(gateway, revision),
    suiteMs,
  );
}

async function passesAsBare({ url }: Endpoint, revision: Revision): Promise<void> {
  const results = await runServerSuite(url, revision);
  expect(complaints(results)).toEqual([]);
  expect(countsOf(results)).toEqual(countsOf(await bare(revision)));
}

describe.concurrent('skills (SEP-2640) through a gateway that has never started its servers', () => {
  const scenarios = ['enumeration', 'manifest', 'directory'].map(
    (name) => `sep-2640-skills-${name}`,
  );

  for (const revision of revisions) {
    it.each(scenarios)(
      `have the checks of the SDK's own server in %s of ${revision} #conformance #skills`,
      async (scenario) => {
        await using server = await startSkills();
        const measure = await runServerScenario(server.url, scenario, revision);
        expect(complaints([measure])).toEqual([]);
        expect(measure.succeeded).toBeGreaterThan(5);
        const beside = { ...(await bystanders(folder)), skills: skillsOnStdio };
        // By itself as well: once, because the gateway reads its skills in the same way each time.
        const alone = scenario === scenarios[0] ? [{ skills: skillsOnStdio }] : [];
        for (const behind of [...alone, beside]) {
          await using gateway = await startGateway(behind);
          const result = await runServerScenario(gateway.url, scenario, revision);
          expect(complaints([result])).toEqual([]);
          expect(countsOf([result])).toEqual(countsOf([measure]));
        }
      },
      suiteMs,
    );
  }
});

describe.concurrent('the gateway as a client', () => {
  const script = fileURLToPath(new URL('use-everything.mjs', import.meta.url));
  const command = `${process.execPath} ${script}`;
  const applicable: Readonly<Record<Revision, readonly string[]>> = {
    '2026-07-28': [
      'tools_call',
      'request-metadata',
      'sep-2322-client-request-state',
      'http-standard-headers',
      'http-custom-headers',
      'http-invalid-tool-headers',
      'json-schema-ref-no-deref',
      'json-schema-2020-12-preservation',
    ],
    '2025-11-25': [
      'initialize',
      'tools_call',
      'elicitation-sep1034-client-defaults',
      'sse-retry',
      'json-schema-2020-12-preservation',
    ],
  };

  it.each(revisions)(
    'is tried in every scenario of %s that is not about OAuth',
    async (revision) => {
      const { required, unscored } = await requirementsOf(revision, 'client');
      const others = [...required, ...unscored].filter((name) => !name.startsWith('auth/'));
      expect([...applicable[revision]].sort()).toEqual(others.sort());
    },
  );

  for (const revision of revisions) {
    it.each(applicable[revision])(`passes %s of ${revision}`, async (scenario) => {
      const result = await runClientScenario(command, scenario, revision);
      expect(complaints([result])).toEqual([]);
      expect(result.passed).toBe(true);
    });
  }
});

/** What the suite found wrong, in its own words. */
function complaints(results: readonly ScenarioResult[]): readonly string[] {
  return results.flatMap(({ name, checks }) =>
    checks
      .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      .map(({ id, status, errorMessage }) => `${name}: ${status} ${id}: ${errorMessage}`),
  );
}

function countsOf(results: readonly ScenarioResult[]): Readonly<Record<string, string>> {
  const compared = results.filter(({ name }) => name !== ownChoice);
  return Object.fromEntries(
    compared.map(({ name, succeeded, failed, warnings }) => [
      name,
      `${succeeded} succeeded, ${failed} failed, ${warnings} warnings`,
    ]),
  );
}
