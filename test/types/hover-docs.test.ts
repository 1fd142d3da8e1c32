// What an editor shows of the library: every type that a program can meet, every member of it and every
// option has a comment in the declarations that are shipped, and every type can be imported by its name.

import { describe, expect, it } from 'vitest';
import { faultTable } from '../../src/kernel/fault.ts';
import { publicTypes } from './public-types.ts';

const types = publicTypes();

describe('the declarations of the library', () => {
  it('have a comment on every type, member and option #hover-docs', () => {
    const named = types.flatMap((type) => [type, ...type.members]);
    expect(named.length).toBeGreaterThan(200);
    expect(named.filter(({ comment }) => comment === '').map(({ name }) => name)).toEqual([]);
  });

  it('name every type that they mention, so that a program can import it', () => {
    expect(types.filter(({ isExported }) => !isExported).map(({ name }) => name)).toEqual([]);
  });

  it('show none of the internals', () => {
    const host = types.find(({ name }) => name === 'Host');
    const members = host?.members.map(({ name }) => name.slice('Host.'.length)).sort();
    expect(members).toEqual([
      'apply',
      'cacheStats',
      'call',
      'callCommand',
      'callRaw',
      'close',
      'discover',
      'events',
      'lease',
      'reload',
      'search',
      'setGuard',
      'spawn',
      'status',
      'stop',
      'tools',
      'withBudget',
    ]);
  });

  it('say of every fault code when it is met', () => {
    const comment = types.find(({ name }) => name === 'FaultCode')?.comment ?? '';
    const missing = Object.keys(faultTable).filter((code) => !comment.includes(`\`${code}\`: `));
    expect(missing).toEqual([]);
  });
});
