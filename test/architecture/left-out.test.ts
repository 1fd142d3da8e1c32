import { describe, expect, it } from 'vitest';
import { leftOutTests, testsThatImport } from '../support/left-out.ts';

describe('tests that need nats-server', () => {
  it('are left out where it is missing, also those that start it through other files', () => {
    const found = leftOutTests({ HOLDFAST_TEST_NATS: '/no/such/program' });
    expect(found).toContain('test/integration/nats-link.test.ts');
    // Through test/support/fleet.ts.
    expect(found).toContain('test/integration/fleet.test.ts');
    expect(found).not.toContain('test/integration/supervision.test.ts');
  });

  it('fail in continuous integration', () => {
    expect(leftOutTests({ HOLDFAST_TEST_NATS: '/no/such/program', CI: '1' })).toEqual([]);
  });

  it('are no others than those that import what starts it', () => {
    expect(testsThatImport('/no/such/file.ts')).toEqual([]);
  });
});
