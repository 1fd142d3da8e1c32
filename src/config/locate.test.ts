import { describe, expect, it } from 'vitest';
import { isSafeToFind, locateConfig, stateDirectory } from './locate.ts';

const at = (env: Record<string, string>, home: string | undefined = '/home/me') => ({
  cwd: '/srv/a/b',
  env,
  home,
});
const only =
  (...files: string[]) =>
  (path: string) =>
    files.includes(path);

describe('the config file is looked for', () => {
  const everywhere = () => true;

  it('first where --config says, relative to the working directory', () => {
    const found = locateConfig('x.json', at({ HOLDFAST_CONFIG: '/other.json' }), everywhere);
    expect(found).toEqual({ kind: 'named', file: '/srv/a/b/x.json' });
  });

  it('then where HOLDFAST_CONFIG says', () => {
    const found = locateConfig(undefined, at({ HOLDFAST_CONFIG: '/other.json' }), everywhere);
    expect(found).toEqual({ kind: 'named', file: '/other.json' });
  });

  it('then in the working directory and its parents, the nearest first', () => {
    const probe = only('/srv/holdfast.json', '/srv/a/holdfast.json');
    expect(locateConfig(undefined, at({ HOLDFAST_CONFIG: '' }), probe)).toEqual({
      kind: 'found',
      file: '/srv/a/holdfast.json',
    });
  });

  it.each([
    [{ XDG_CONFIG_HOME: '/cfg' }, '/cfg/holdfast/holdfast.json'],
    [{ XDG_CONFIG_HOME: 'relative' }, '/home/me/.config/holdfast/holdfast.json'],
    [{}, '/home/me/.config/holdfast/holdfast.json'],
  ])('last in the user’s config folder, given %j', (env, file) => {
    expect(locateConfig(undefined, at(env), only(file))).toEqual({ kind: 'found', file });
  });

  it('and the places are named when it is nowhere', () => {
    expect(locateConfig(undefined, at({}), only())).toEqual({
      kind: 'absent',
      looked: [
        '/srv/a/b/holdfast.json',
        '/srv/a/holdfast.json',
        '/srv/holdfast.json',
        '/holdfast.json',
        '/home/me/.config/holdfast/holdfast.json',
      ],
    });
  });
});

describe('a file that was merely found', () => {
  it.each([
    ['mine', { uid: 1000, mode: 0o100644 }, true],
    ["root's", { uid: 0, mode: 0o100644 }, true],
    ["somebody else's", { uid: 1001, mode: 0o100644 }, false],
    ['writable by everyone', { uid: 1000, mode: 0o100666 }, false],
  ])('and is %s may be used: %j %s', (_, file, isSafe) => {
    expect(isSafeToFind(file, 1000)).toBe(isSafe);
  });
});

describe('the state directory', () => {
  it.each([
    [{ HOLDFAST_STATE: 'state' }, '/srv/a/b/state'],
    [{ XDG_STATE_HOME: '/st' }, '/st/holdfast'],
    [{}, '/home/me/.local/state/holdfast'],
  ])('given %j is %s', (env, directory) => expect(stateDirectory(at(env))).toBe(directory));

  it('is asked for when nothing says where', () => {
    const nowhere = { cwd: '/', env: {}, home: undefined };
    expect(() => stateDirectory(nowhere)).toThrow(/set HOLDFAST_STATE/);
  });
});
