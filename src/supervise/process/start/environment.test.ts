import { describe, expect, it } from 'vitest';
import { childEnvironment, childToken, instanceToken } from './environment.ts';

const nothing = { env: {}, inheritEnv: [], token: 'abc.1;' };

describe('the environment of a child', () => {
  it('holds exactly the safe set and the marker', () => {
    const safe = {
      PATH: '/bin',
      HOME: '/h',
      USER: 'u',
      SHELL: '/bin/sh',
      TERM: 'dumb',
      LOGNAME: 'u',
      LANG: 'C',
      LC_ALL: 'C',
      TZ: 'UTC',
      TMPDIR: '/tmp',
      HTTP_PROXY: 'a',
      https_proxy: 'b',
      NO_PROXY: 'c',
      SSL_CERT_FILE: 'd',
      NODE_EXTRA_CA_CERTS: 'e',
      XDG_RUNTIME_DIR: 'f',
    };
    const secrets = { AWS_SECRET: 'x', NODE_OPTIONS: 'x', LD_PRELOAD: 'x', Path: 'x', PROXY: 'x' };
    expect(childEnvironment({ ...safe, ...secrets }, nothing)).toEqual({
      ...safe,
      HOLDFAST_INSTANCE: 'abc.1;',
    });
  });

  it('passes on what inheritEnv names, by name and by prefix', () => {
    const source = { ONE: '1', TWO: '2', APP_A: 'a', APP_B: 'b', APPLE: 'c' };
    const env = childEnvironment(source, { ...nothing, inheritEnv: ['ONE', 'APP_*'] });
    expect(Object.keys(env).sort()).toEqual(['APP_A', 'APP_B', 'HOLDFAST_INSTANCE', 'ONE']);
  });

  it('passes on by a pattern nothing that makes programs run other code, unless it is allowed #least-environment', () => {
    const source = { NODE_ENV: 'a', NODE_OPTIONS: 'b', NODE_PATH: 'c', LD_PROXY: 'd' };
    const request = { ...nothing, inheritEnv: ['NODE_*'] };
    expect(Object.keys(childEnvironment(source, request))).toEqual([
      'NODE_ENV',
      'HOLDFAST_INSTANCE',
    ]);
    const allowing = { ...request, allowEnv: ['NODE_OPTIONS', 'LD_PROXY'] };
    expect(Object.keys(childEnvironment(source, allowing)).sort()).toEqual([
      'HOLDFAST_INSTANCE',
      'LD_PROXY',
      'NODE_ENV',
      'NODE_OPTIONS',
    ]);
  });

  it('lays declared variables over inherited ones, but never over the marker', () => {
    const declared = { PATH: '/mine', HOLDFAST_INSTANCE: 'forged' };
    const env = childEnvironment({ PATH: '/theirs' }, { ...nothing, env: declared });
    expect(env).toEqual({ PATH: '/mine', HOLDFAST_INSTANCE: 'abc.1;' });
  });

  it('keeps the marks of the hosts above', () => {
    const env = childEnvironment({ HOLDFAST_INSTANCE: 'outer.7;' }, nothing);
    expect(env['HOLDFAST_INSTANCE']).toBe('outer.7;abc.1;');
  });

  it('tells child 1 from child 11 of the same host', () => {
    expect(childToken('abc', 11)).not.toContain(childToken('abc', 1));
    expect(childToken('abc', 11)).toContain(instanceToken('abc'));
  });
});
