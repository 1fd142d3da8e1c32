import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { KeptChildren } from './kept-children.ts';
import type { HeldExit } from './messages.ts';

const request = { line: ['/bin/sh', '-c', 'exec sleep 1000'], env: {}, cwd: '/', hasReport: false };
const open = () => readdirSync('/dev/fd').length;

function owner() {
  let exited!: (exit: HeldExit) => void;
  const exit = new Promise<HeldExit>((resolve) => {
    exited = resolve;
  });
  return { exit, exited: (_id: number, how: HeldExit) => exited(how) };
}

describe('a process of an owner that has ended', () => {
  it('is ended, and its pipes are closed #no-orphans #no-growth', async () => {
    const children = new KeptChildren();
    const [first, ended, other] = [owner(), owner(), owner()];
    // Node opens something of its own for the first one.
    children.end((await children.spawn(request, first)).id, first);
    await first.exit;
    const before = open();
    await children.spawn(request, ended);
    const { id } = await children.spawn(request, other);
    children.endOf(ended);
    expect(await ended.exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(children.size).toBe(1);
    children.end(id, ended);
    expect(children.size).toBe(1);
    children.end(id, other);
    expect(await other.exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(children.size).toBe(0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(open()).toBe(before);
  });
});
