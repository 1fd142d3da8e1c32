import { describe, expect, it } from 'vitest';
import { namesNoTool, partialAddress } from './tool-address.ts';

describe('the address of a tool', () => {
  it('is divided at its first slash only', () => {
    expect(partialAddress('git/log/all')).toEqual({ server: 'git', tool: 'log/all' });
  });

  it('may be a server without a tool', () => {
    expect(partialAddress('git')).toEqual({ server: 'git', tool: undefined });
  });

  it('without a tool gives an error that says how to find one', () => {
    expect(namesNoTool('git', 'git').message).toContain('holdfast tools git');
  });

  it.each(['/log', 'git/', '/', ''])('is refused where it is %j', (text) => {
    expect(() => partialAddress(text)).toThrow('SERVER/TOOL');
  });
});
