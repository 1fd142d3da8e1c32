// What is an address of a NATS server in a config.

import { describe, expect, it } from 'vitest';
import { natsPlaceIn } from './nats-address.ts';

describe('the address of a NATS server', () => {
  it('has a namespace, a user and a secret, none of which people see #store-nats', () => {
    expect(natsPlaceIn('nats://ann:p%40ss@host:4222/team-a')).toEqual({
      url: 'nats://host:4222',
      namespace: 'team-a',
      user: 'ann',
      secret: 'p@ss',
    });
    expect(natsPlaceIn('tls://[::1]:4222')).toEqual({
      url: 'tls://[::1]:4222',
      namespace: 'holdfast',
      user: '',
      secret: undefined,
    });
  });

  it('takes a user without a password for the seed of an nkey', () => {
    const seed = `SU${'A'.repeat(56)}`;
    expect(natsPlaceIn(`nats://${seed}@host`)).toMatchObject({ url: 'nats://host', secret: seed });
  });

  it.each([
    'http://host',
    'nats://',
    'nats://host/Team',
    'nats://host/a/b',
    `nats://host/${'a'.repeat(33)}`,
    'nats://host/a?b=c',
    'nats://host/#a',
    'nats://:secret@host',
    'nats://ann:%zz@host',
    'nats:host',
  ])('is none: %s', (text) => {
    expect(natsPlaceIn(text)).toBeUndefined();
  });
});
