import { describe, expect, it } from 'vitest';
import { HostCheck } from './host-check.ts';

const check = (rules: Partial<ConstructorParameters<typeof HostCheck>[0]> = {}) =>
  new HostCheck({ host: '127.0.0.1', allowedHosts: [], allowedOrigins: [], ...rules });

const isServed = (checker: HostCheck, host: string | undefined, own = '127.0.0.1') =>
  checker.hostProblem(host, own) === undefined;

describe('the Host of a request', () => {
  it.each(['localhost', 'localhost:4100', 'LocalHost:1', '127.0.0.1:4100', '[::1]:4100'])(
    'may be this machine: %s',
    (host) => {
      expect(isServed(check(), host)).toBe(true);
    },
  );

  it.each([
    undefined,
    '',
    'evil.example.com',
    'evil.example.com:4100',
    'localhost.evil.com',
    '127.0.0.1.evil.com',
    'localhost@evil.com',
    'evil.com/localhost',
    'localhost:4100:80',
    '[::1',
    '[::1].evil.com',
    '[localhost]',
    'localhost, evil.com',
    '0.0.0.0',
    '192.168.1.5',
    '2130706433',
    '0x7f.0.0.1',
    '127.1.2.3',
    '127.1',
    'localhost.',
    '[::ffff:127.0.0.1]',
    '[::ffff:127.0.0.1]:4100',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[0:0:0:0:0:0:0:1]',
    '[::0001]',
  ])('may not be %j #http-edge', (host) => {
    const checker = check();
    expect(isServed(checker, host)).toBe(false);
    expect(isServed(checker, host)).toBe(false);
  });

  it('may be one the operator has listed, with its port if that is listed too', () => {
    const checker = check({ allowedHosts: ['Tools.example.com', 'other.example.com:8443'] });
    expect(isServed(checker, 'tools.example.com')).toBe(true);
    expect(isServed(checker, 'tools.example.com:9')).toBe(true);
    expect(isServed(checker, 'other.example.com:8443')).toBe(true);
    expect(isServed(checker, 'other.example.com:9')).toBe(false);
    expect(isServed(checker, 'sub.tools.example.com')).toBe(false);
  });

  it('may be the address that is listened on', () => {
    const checker = check({ host: '192.168.1.5' });
    expect(isServed(checker, '192.168.1.5:4100', '192.168.1.5')).toBe(true);
    expect(isServed(checker, '192.168.1.6:4100', '192.168.1.5')).toBe(false);
  });

  it('may be the address a client reached us by, where all are listened on', () => {
    const checker = check({ host: '0.0.0.0' });
    expect(isServed(checker, '10.0.0.7:4100', '10.0.0.7')).toBe(true);
    expect(isServed(checker, '10.0.0.8:4100', '::ffff:10.0.0.8')).toBe(true);
    expect(isServed(checker, '10.0.0.9:4100', '10.0.0.7')).toBe(false);
    expect(isServed(checker, 'evil.com', '10.0.0.7')).toBe(false);
  });

  it('is remembered only if it passed', () => {
    const checker = check();
    for (let port = 0; port < 200; port += 1) {
      expect(isServed(checker, `localhost:${port}`)).toBe(true);
      expect(isServed(checker, `evil.com:${port}`)).toBe(false);
    }
  });
});

describe('the Origin of a request', () => {
  const mayAsk = (checker: HostCheck, origin: string | undefined, host = 'localhost:4100') =>
    checker.originProblem(origin, host) === undefined;

  it.each([
    undefined,
    'http://localhost:4100',
    'HTTP://LocalHost:4100',
    'http://127.0.0.1:4100',
    'http://[::1]:4100',
  ])('may be absent or our own: %s', (origin) => {
    expect(mayAsk(check(), origin)).toBe(true);
  });

  it('has the port that the client used, which a tunnel may have changed', () => {
    expect(mayAsk(check(), 'http://localhost:8080', 'localhost:8080')).toBe(true);
    expect(mayAsk(check(), 'https://localhost', 'localhost')).toBe(true);
    expect(mayAsk(check(), 'http://localhost', 'localhost:4100')).toBe(false);
  });

  it.each([
    'null',
    '',
    'http://evil.com',
    'http://evil.com:4100',
    'http://localhost.evil.com:4100',
    'http://evil.com#localhost:4100',
    'http://user@localhost:4100',
    'http://localhost:4100/path',
    'file://',
    'chrome-extension://localhost:4100',
    'http://localhost:4100 http://evil.com',
    'http://localhost',
    'http://localhost:6274',
    'https://127.0.0.1:3000',
    'http://[::ffff:127.0.0.1]:4100',
    'http://127.1.2.3:4100',
  ])('may not be %j #http-edge', (origin) => {
    expect(mayAsk(check(), origin)).toBe(false);
  });

  it('may be one the operator has listed, exactly', () => {
    const checker = check({ allowedOrigins: ['https://App.example.com', 'moz-extension://abc'] });
    expect(mayAsk(checker, 'https://app.example.com')).toBe(true);
    expect(mayAsk(checker, 'moz-extension://abc')).toBe(true);
    expect(mayAsk(checker, 'http://app.example.com')).toBe(false);
    expect(mayAsk(checker, 'https://app.example.com:444')).toBe(false);
    expect(checker.isListed('https://app.example.com')).toBe(true);
    expect(checker.isListed('http://localhost')).toBe(false);
  });
});

describe('the Sec-Fetch-Site of a request', () => {
  const mayLoad = (site: string | undefined, origin?: string) =>
    check().siteProblem(site, origin) === undefined;

  it.each([undefined, 'none', 'same-origin'])('may be absent or our own: %s', (site) => {
    expect(mayLoad(site)).toBe(true);
  });

  it.each(['cross-site', 'same-site', '', 'none, cross-site', 'Cross-Site'])(
    'may not be %j, which says that a page of somebody else loads it #http-edge',
    (site) => {
      expect(mayLoad(site)).toBe(false);
    },
  );

  it('says nothing where there is an Origin, which is judged by itself', () => {
    expect(mayLoad('cross-site', 'https://app.example.com')).toBe(true);
  });
});
