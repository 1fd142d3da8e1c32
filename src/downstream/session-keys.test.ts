// What clients are called toward servers: in each process of an instance other names, unless the transport knows better.

import { describe, expect, it } from 'vitest';
import { newHost } from '../../test/support/fake-gateway.ts';
import { localUser } from '../policy/principal.ts';
import { Gateway } from './gateway.ts';

describe('the key of a legacy session', () => {
  it('is its own in every process that may serve its servers, or the one that it is given #rollout', () => {
    const { host, clock } = newHost({});
    const settings = {
      naming: 'prefix',
      surface: 'direct',
      hostTools: false,
      listWaitMs: 0,
    } as const;
    const keyAt = (id: string, key?: string) => {
      const replica = { id, key: Buffer.alloc(32), doServersMove: true };
      const identity = { name: 'holdfast', version: '0' };
      const gateway = new Gateway({ host, clock, identity, settings, replica });
      const session = gateway.openSession(localUser, { send: () => {} }, { key });
      return (session as unknown as { key: string }).key;
    };
    const made = [keyAt('aa'), keyAt('bb'), keyAt('aa', 'given'), keyAt('bb', 'given')];
    expect(made).toEqual(['session-aa-1', 'session-bb-1', 'given', 'given']);
  });
});
