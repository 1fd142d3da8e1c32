import { defineConfig } from 'vitest/config';

// Three projects: unit tests stand beside their source and touch neither processes nor ports;
// architecture tests read the tree; integration tests run real processes against the build.
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['src/**/*.test.ts'] } },
      { test: { name: 'architecture', include: ['test/architecture/**/*.test.ts'] } },
      {
        test: {
          name: 'integration',
          include: ['test/{integration,simulation}/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
          setupFiles: ['test/support/no-survivors.ts'],
        },
      },
    ],
  },
});
