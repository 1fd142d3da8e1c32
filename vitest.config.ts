import { defineConfig } from 'vitest/config';

// Three projects: unit tests stand beside their source and touch neither processes nor ports;
// architecture tests read the tree; integration tests run real processes against the build.
export default defineConfig({
  test: {
    projects: [
      // No unit test changes anything global, so they share one module graph: seconds, not a minute.
      { test: { name: 'unit', include: ['src/**/*.test.ts'], pool: 'threads', isolate: false } },
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
            'test/{integration,simulation,conformance,chaos,crash,fuzz,slow-clients,interop,controls,proof}/**/*.test.ts',
          ],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
          setupFiles: ['test/support/no-survivors.ts'],
        },
      },
    ],
  },
});
