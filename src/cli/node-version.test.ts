import { describe, expect, it } from 'vitest';
import { nodeProblem } from './node-version.ts';

describe('the version of Node', () => {
  it.each(['v20.19.0', 'v20.20.2', 'v22.0.0', 'v100.1.2'])('is good: %s', (version) => {
    expect(nodeProblem(version)).toBeUndefined();
  });

  it.each(['v18.20.8', 'v20.18.3', 'v16.0.0', 'v0.12.1', 'nonsense'])(
    'is too old: %s',
    (version) => {
      expect(nodeProblem(version)).toEqual({
        text: `this is Node ${version}, which is too old for Holdfast`,
        remedy: 'install Node 20.19 or later',
      });
    },
  );
});
