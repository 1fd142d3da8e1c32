import { describe, expect, it } from 'vitest';
import { FakeDisk } from '../../test/support/fake-disk.ts';
import { ManualClock, settled } from '../../test/support/manual-clock.ts';
import { FileStore } from './file-store.ts';

const forgetful = { durability: 'forgetful' } as const;
const durable = { durability: 'durable' } as const;

function world() {
  const [disk, clock] = [new FakeDisk(), new ManualClock()];
  const problems: string[] = [];
  const report = ({ detail }: { readonly detail: string }) => void problems.push(detail);
  const process = () => new FileStore({ disk, clock, report });
  return { disk, clock, problems, process };
}

describe('files of an instance over a rollout', () => {
  it('have what the former process has put before, and nothing forgetful that it puts later', async () => {
    const { process } = world();
    const [former, next] = [process(), process()];
    const [ours, theirs] = [former, next].map((store) => store.records('facts', forgetful));
    const putting = ours?.put('server', 'before');
    await former.handOver();
    await putting;
    expect((await theirs?.get('server'))?.value).toBe('before');
    await theirs?.put('server', 'newer');
    await ours?.put('server', 'older');
    await ours?.putIfAbsent('other', 'older');
    await ours?.remove('server');
    expect((await theirs?.get('server'))?.value).toBe('newer');
    expect((await ours?.get('server'))?.value).toBe('newer');
    expect(await theirs?.get('other')).toBeUndefined();
    // Commands add tokens at any time, and so may this process.
    await former.records('tokens', durable).put('token', 1);
    expect((await next.records('tokens', durable).get('token'))?.value).toBe(1);
    await former.close();
    expect((await theirs?.get('server'))?.value).toBe('newer');
    await next.close();
  });

  it('are not written later with what a failing disk had not taken', async () => {
    const { disk, clock, process } = world();
    const [former, next] = [process(), process()];
    const [ours, theirs] = [former, next].map((store) => store.records('facts', forgetful));
    disk.failing.replace = 'ENOSPC';
    await ours?.put('server', 'older');
    await former.handOver();
    delete disk.failing.replace;
    await theirs?.put('server', 'newer');
    clock.advance(120_000);
    for (let turn = 0; turn < 10; turn += 1) await settled();
    await former.close();
    expect((await theirs?.get('server'))?.value).toBe('newer');
    await next.close();
  });
});
