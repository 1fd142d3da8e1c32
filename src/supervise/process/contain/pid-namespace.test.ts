import { describe, expect, it } from 'vitest';
import type { ProcessRow } from '../watch/process-table.ts';
import { inPidNamespace, namespaceMembers } from './pid-namespace.ts';

const tools = { unshare: '/bin/unshare', setpriv: '/bin/setpriv', env: '/bin/env' };

function row(pid: number, parent: number): ProcessRow {
  return { pid, parent, start: '1', group: 1, session: 1, isZombie: false };
}

describe('a command in a pid namespace', () => {
  it('ends with the words of the command, unchanged', () => {
    const line = inPidNamespace(tools, 'root', ['/bin/server', 'a b', '$HOME', "'"]);
    expect(line.slice(-4)).toEqual(['/bin/server', 'a b', '$HOME', "'"]);
    expect(line).not.toContain('--user');
  });

  it('gives an ordinary user rights only until the namespace is made', () => {
    const line = inPidNamespace(tools, 'ordinary user', ['/bin/server']);
    expect(line.indexOf('--keep-caps')).toBeLessThan(line.indexOf('--ambient-caps=-all'));
    expect(line).toContain('--map-current-user');
  });

  it('is found by who is whose child', () => {
    const rows = [row(12, 11), row(11, 10), row(13, 12)];
    expect(namespaceMembers(10, rows)).toMatchObject({ init: { pid: 11 }, server: { pid: 12 } });
    expect(namespaceMembers(10, [row(11, 10)])).toBeNull();
    expect(namespaceMembers(10, [])).toBeNull();
  });
});
