import { describe, expect, it } from 'vitest';
import { needsHolder } from './needs-holder.ts';

const started = (words: readonly string[], more: object = {}) =>
  needsHolder({
    ...{ argv: ['node', 'main.js', ...words], env: {}, pid: 7, platform: 'linux' },
    ...more,
  });

describe('a command line', () => {
  it.each([
    ['serve'],
    ['serve --stdio'],
    ['--config serve serve'],
    ['--json serve --for-connect 1'],
  ])('%s is run by a pid-holder', (line) => {
    expect(started(line.split(' '))).toBe(true);
  });

  it.each([
    ['call a/serve'],
    ['--config serve status'],
    ['serve --help'],
    ['serve --no-holder'],
    ['serve --config /dev/fd/63'],
    [''],
  ])('%s is not', (line) => {
    expect(started(line.split(' '))).toBe(false);
  });

  it('is not below a holder, as process 1, or on Windows', () => {
    expect(started(['serve'], { env: { HOLDFAST_HOLDER: '1' } })).toBe(false);
    expect(started(['serve'], { pid: 1 })).toBe(false);
    expect(started(['serve'], { platform: 'win32' })).toBe(false);
  });
});
