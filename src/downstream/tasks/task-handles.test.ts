import { describe, expect, it } from 'vitest';
import { localUser } from '../../policy/principal.ts';
import { Seal } from '../relay/seal.ts';
import { TaskHandles } from './task-handles.ts';

const other = { id: 'token:x', role: null };

describe('the handle of a task', () => {
  const handles = new TaskHandles(new Seal());

  it.each([
    ['files', 'abc', 'read'],
    ['a.b', 'x.y.z', 'a.b'],
    ['ü %', '', ''],
    ['files', 'with/slash and "quotes"', 'a/b "c"'],
  ])('leads back to the server %j, its id %j and the tool %j', (server, taskId, tool) => {
    const handle = handles.handleOf({ server, taskId, tool }, localUser);
    expect(handles.ownerOf(handle, localUser)).toEqual({ server, taskId, tool });
  });

  it('is the same every time, because clients compare it', () => {
    const owner = { server: 'files', taskId: '1', tool: 'read' };
    expect(handles.handleOf(owner, localUser)).toBe(handles.handleOf(owner, localUser));
  });

  it('is nothing in the hands of another', () => {
    const handle = handles.handleOf({ server: 'files', taskId: '1', tool: 'read' }, localUser);
    expect(handles.ownerOf(handle, other)).toBeUndefined();
  });

  it('is nothing when it was changed, and names no server in clear', () => {
    const handle = handles.handleOf({ server: 'files', taskId: '1', tool: 'read' }, localUser);
    expect(Buffer.from(handle, 'base64url').includes('files')).toBe(false);
    const other = handle.startsWith('B') ? 'C' : 'B';
    for (const forged of [`${other}${handle.slice(1)}`, handle.slice(0, -1), `${handle}A`]) {
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
