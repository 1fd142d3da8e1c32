import { describe, expect, it } from 'vitest';
import { cgroupsFrom } from './own-cgroups.ts';

describe('our own cgroups', () => {
  it('are found on a machine with the unified hierarchy', () => {
    const mounts = '30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n';
    const own = cgroupsFrom('0::/user.slice/user-1000.slice/app.scope\n', mounts);
    expect(own).toEqual({
      unified: '/sys/fs/cgroup/user.slice/user-1000.slice/app.scope',
      memory: null,
      pids: null,
    });
  });

  it('are found on a machine with the controllers of version 1', () => {
    const mounts = [
      '31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755',
      '35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
      '39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids',
      '41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
    ];
    const memberships = '9:name=systemd:/\n8:pids:/\n4:memory:/jobs/7\n0::/\n';
    expect(cgroupsFrom(memberships, mounts.join('\n'))).toEqual({
      unified: '/sys/fs/cgroup/unified',
      memory: '/sys/fs/cgroup/memory/jobs/7',
      pids: '/sys/fs/cgroup/pids',
    });
  });

  it('are below the root of the mount in a container', () => {
    const mounts = '35 31 0:32 /docker/ab /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n';
    const inside = cgroupsFrom('4:memory:/docker/ab/c\n', mounts);
    expect(inside.memory).toBe('/sys/fs/cgroup/memory/c');
    expect(cgroupsFrom('4:memory:/elsewhere\n', mounts).memory).toBeNull();
  });

  it('are none where there is no mount', () => {
    expect(cgroupsFrom('0::/\n', '')).toEqual({ unified: null, memory: null, pids: null });
  });
});
