import { describe, expect, it } from 'vitest';
import { instancePlace } from './place.ts';

describe('the place of an instance', () => {
  it('is found by the config, below the state directory', () => {
    const one = instancePlace('/state', '/a/holdfast.json', {});
    const other = instancePlace('/state', '/b/holdfast.json', {});
    expect(one.folder).toMatch(/^\/state\/by-config\/[0-9a-f]{16}$/);
    expect(one).toEqual(instancePlace('/state', '/a/holdfast.json', {}));
    expect(one.folder).not.toBe(other.folder);
    expect(one.socket).toBe(`${one.folder}/control.sock`);
    expect(one.database).toBe(`${one.folder}/state.db`);
  });

  it('has its socket in the runtime directory if the path is too long for one', () => {
    const long = `/${'state/'.repeat(20)}`;
    const env = { XDG_RUNTIME_DIR: '/run/user/1000' };
    const { socket, folder } = instancePlace(long, '/a/holdfast.json', env);
    expect(socket).toMatch(/^\/run\/user\/1000\/holdfast\/[0-9a-f]{16}\.sock$/);
    expect(folder.startsWith(long)).toBe(true);
    expect(instancePlace('/other', '/a/holdfast.json', env).socket).not.toBe(socket);
  });

  it('is refused if there is no shorter directory either', () => {
    const long = `/${'state/'.repeat(20)}`;
    for (const dir of [undefined, '', 'relative', `/${'x'.repeat(90)}`]) {
      expect(() => instancePlace(long, '/a/holdfast.json', { XDG_RUNTIME_DIR: dir })).toThrow(
        /too long for a socket.*set HOLDFAST_STATE/,
      );
    }
  });
});
