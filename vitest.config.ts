import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { leftOutTests } from './test/support/left-out.ts';

/** What takes longest, in this order: begun first, they leave nobody waiting at the end. */
const longest = [
  'src/wire/wire.test',
  'src/catalog/cursors.test',
  'test/conformance/conformance',
  'test/chaos/chaos',
  'test/integration/orphans',
  'test/integration/spawn',
  'test/interop/interop',
  'test/integration/matrix/interactive',
  'test/integration/matrix/sdk-',
  'test/fleet/fleet-',
  'test/controls/controls',
  'test/proof/options',
  'test/simulation/simulation',
  'test/rollout/rollouts',
  'test/rollout/rollout-kills',
  'test/integration/eras',
  'test/integration/supervision',
  'test/crash/crash',
  'test/slow-clients/slow-clients',
  'test/integration/noise',
  'test/integration/faulty-fixture',
  'test/integration/gateway-classes',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = longest.findIndex((part) => moduleId.includes(`/${part}`));
      return at < 0 ? longest.length : at;
    };
    return [...files].sort((a, b) => place(a) - place(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

// Three projects: unit tests stand beside their source and touch neither processes nor ports;
// architecture tests read the tree; integration tests run real processes against the build.
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      // No unit test changes anything global, so they share one module graph: seconds, not a minute.
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts'],
          pool: 'threads',
          isolate: false,
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'architecture',
          include: ['test/architecture/**/*.test.ts'],
          // The compiler is asked for types, which takes as long as the machine is busy.
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: [
            'test/{integration,simulation,conformance,chaos,crash,fuzz,slow-clients,strangers,fleet,rollout,load,interop,controls,proof,types}/**/*.test.ts',
          ],
          exclude: ['**/node_modules/**', ...leftOutTests()],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // A worker that is started again for each of a hundred files costs two cores 20 seconds.
          isolate: false,
          // One more than the two cores that are asked for: a third of the time a file waits for processes.
          maxWorkers: 3,
          // Of tests that run side by side within a file; more would be late for what waits for seconds.
          maxConcurrency: 3,
          setupFiles: ['test/support/no-survivors.ts'],
        },
      },
    ],
  },
});
