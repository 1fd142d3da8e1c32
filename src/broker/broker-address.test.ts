// Which addresses lead to a broker, and that no credential is sent over a network in clear.

import { describe, expect, it } from 'vitest';
import { kindOfBroker } from './broker-address.ts';

describe('the address of a broker', () => {
  it.each([
    ['ws://127.0.0.1:4200', 'embedded'],
    ['ws://localhost:4200/', 'embedded'],
    ['ws://[::1]:4200', 'embedded'],
    ['wss://broker.example:4200', 'embedded'],
    ['nats://10.0.0.1:4222', 'nats'],
    ['tls://nats.example', 'nats'],
  ] as const)('%s leads to one', (url, kind) => {
    expect(kindOfBroker(url)).toBe(kind);
  });

  it.each(['ws://192.0.2.2:4200', 'ws://broker.example', 'ws://[2001:db8::1]:4200'])(
    '%s would show the credential to others, and is refused #broker-identity',
    (url) => {
      expect(() => kindOfBroker(url)).toThrow(/in clear: use wss:\/\//);
    },
  );

  it.each(['http://x', 'ws://', 'ws://h/path', 'ws://h?x', '', 'nonsense'])(
    '%s is none, and is told how one looks',
    (url) => {
      expect(() => kindOfBroker(url)).toThrow(/the address of a broker is ws:\/\/HOST:PORT/);
    },
  );

  it('with a password is refused, and not repeated', () => {
    const refused = () => kindOfBroker('ws://user:secret@127.0.0.1:4200');
    expect(refused).toThrow(/has no user and no password/);
    expect(refused).not.toThrow(/secret/);
  });
});
