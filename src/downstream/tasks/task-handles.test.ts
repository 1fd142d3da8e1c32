import { describe, expect, it } from 'vitest';
import { localUser } from '../../policy/principal.ts';
import { Seal } from '../relay/seal.ts';
import { TaskHandles } from './task-handles.ts';

const other = { id: 'token:x', role: null };

describe('the handle of a task', () => {
  const handles = new TaskHandles(new Seal());

  it.each([
    ['files', 'abc'],
    ['a.b', 'x.y.z'],
    ['ü %', ''],
    ['files', 'with/slash and "quotes"'],
  ])('leads back to the server %j and its id %j', (server, taskId) => {
    const handle = handles.handleOf({ server, taskId }, localUser);
    expect(handles.ownerOf(handle, localUser)).toEqual({ server, taskId });
  });

  it('is the same every time, because clients compare it', () => {
    const owner = { server: 'files', taskId: '1' };
    expect(handles.handleOf(owner, localUser)).toBe(handles.handleOf(owner, localUser));
  });

  it('is nothing in the hands of another', () => {
    const handle = handles.handleOf({ server: 'files', taskId: '1' }, localUser);
    expect(handles.ownerOf(handle, other)).toBeUndefined();
  });

  it('is nothing when it was changed, and names no server in clear', () => {
    const handle = handles.handleOf({ server: 'files', taskId: '1' }, localUser);
    expect(Buffer.from(handle, 'base64url').includes('files')).toBe(false);
    for (const forged of [`B${handle.slice(1)}`, handle.slice(0, -1), `${handle}A`]) {
      expect(handles.ownerOf(forged, localUser)).toBeUndefined();
    }
  });

  it.each(['', '.', '..', 'files', 'files.1', '%.1.x', '%E0%A4%A.1.x'])(
    'is nothing when it was made up: %j',
    (handle) => {
      expect(handles.ownerOf(handle, localUser)).toBeUndefined();
    },
  );
});
