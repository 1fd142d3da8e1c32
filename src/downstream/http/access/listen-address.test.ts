import { describe, expect, it } from 'vitest';
import { Fault } from '../../../kernel/fault.ts';
import { isLoopback } from '../../../kernel/loopback.ts';
import { addressText, assertGuarded, listenAddress, listenFault, urlOf } from './listen-address.ts';

describe('an address to listen on', () => {
  it.each([
    ['127.0.0.1:4100', '127.0.0.1', 4100],
    ['localhost:0', 'localhost', 0],
    ['0.0.0.0:65535', '0.0.0.0', 65_535],
    ['[::1]:80', '::1', 80],
    ['gateway.internal:8080', 'gateway.internal', 8080],
  ])('is read from %s', (text, host, port) => {
    expect(listenAddress(text)).toEqual({ host, port });
    expect(addressText({ host, port })).toBe(text);
  });

  it.each([
    '4100',
    ':4100',
    '127.0.0.1',
    '127.0.0.1:',
    '127.0.0.1:65536',
    '127.0.0.1:-1',
    '::1:80',
    '[::1]',
    '[localhost]:80',
    'a b:1',
    '',
  ])('is not read from %j', (text) => {
    expect(() => listenAddress(text)).toThrow(Fault);
    expect(() => listenAddress(text)).toThrow('HOST:PORT');
  });

  it('is shown as a client on this machine reaches it', () => {
    expect(urlOf({ host: '127.0.0.1', port: 1 })).toBe('http://127.0.0.1:1/mcp');
    expect(urlOf({ host: '0.0.0.0', port: 1 })).toBe('http://127.0.0.1:1/mcp');
    expect(urlOf({ host: '::', port: 1 })).toBe('http://[::1]:1/mcp');
  });

  it.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])(
    'is for this machine alone: %s',
    (host) => {
      expect(isLoopback(host)).toBe(true);
      expect(() => assertGuarded({ host, port: 1 }, 'none')).not.toThrow();
    },
  );

  it.each([
    '0.0.0.0',
    '::',
    '192.168.1.5',
    '127.0.0.1.evil.com',
    'localhost.evil.com',
    '1270.0.0.1',
  ])('is refused without authentication: %s', (host) => {
    expect(isLoopback(host)).toBe(false);
    expect(() => assertGuarded({ host, port: 4100 }, 'none')).toThrow('without authentication');
    expect(() => assertGuarded({ host, port: 4100 }, 'token')).not.toThrow();
  });
});

describe('why listening failed', () => {
  const failure = (code: string, holder?: { version: string }) =>
    listenFault(
      { host: '127.0.0.1', port: 80 },
      Object.assign(new Error('anything'), { code, errno: -1 }),
      holder,
    );

  it.each([
    ['EADDRINUSE', 'unavailable', 'in use'],
    ['EACCES', 'unavailable', 'may not'],
    ['EADDRNOTAVAIL', 'invalid_request', 'no such address'],
    ['ENOTFOUND', 'invalid_request', 'cannot be resolved'],
    ['EMFILE', 'overloaded', 'EMFILE'],
    ['EIO', 'unavailable', 'EIO'],
  ])('is said of %s with the address and the next step', (errno, code, cause) => {
    const fault = failure(errno);
    expect(fault.code).toBe(code);
    expect(fault.message).toContain('127.0.0.1:80');
    expect(fault.message).toContain(cause);
    expect(fault.message).toMatch(/holdfast serve --listen (?:127\.0\.0\.1:\d+|HOST:PORT)$/);
    expect(fault.message).not.toContain('\n');
  });

  it('names the port, and another gateway that holds it', () => {
    expect(failure('EADDRINUSE').message).toMatch(
      /port 80 is in use by another program; .*holdfast serve --listen 127\.0\.0\.1:0$/,
    );
    expect(failure('EADDRINUSE', { version: '1.2.3' }).message).toMatch(
      /port 80 is in use by another Holdfast gateway \(version 1\.2\.3\); .*--listen 127\.0\.0\.1:0$/,
    );
  });
});
