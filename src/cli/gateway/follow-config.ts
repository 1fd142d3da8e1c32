// Takes over a changed config while a gateway runs. A config that cannot be used changes nothing, and one
// line says why.

import type { AppliedConfig } from '../../host/apply.ts';
import type { OpenedHost } from '../../host/create-host.ts';
import { ConfigWatch } from '../../instance/config-watch.ts';
import { Fault } from '../../kernel/fault.ts';
import { planLines } from '../render/plan-page.ts';
import { beforeIn } from '../running-servers.ts';
import { remark, type Shell } from '../shell.ts';
import type { ConfigInUse } from './config-in-use.ts';

export function followConfig(
  shell: Shell,
  host: OpenedHost,
  inUse: ConfigInUse,
  state: string,
): ConfigWatch {
  const takeOver = async () => {
    try {
      const loaded = await inUse.read();
      const before = beforeIn(host.status());
      const applied = await host.applyLoaded(loaded);
      inUse.take(loaded);
      for (const { name, cause } of applied.failed) remark(shell, `${name}: ${cause}`);
      const isChanged = isDifferent(applied);
      const lines = isChanged ? planLines({ ...applied, disabled: [], isDone: true }, before) : [];
      for (const line of lines) remark(shell, `the config has changed: ${line}`);
    } catch (error) {
      const isFault = error instanceof Fault;
      const fault = isFault ? error : host.defects.caught('the config file', error);
      if (fault.code === 'draining') return;
      remark(shell, `the config has changed and is not taken over: ${fault.message}`);
    }
  };
  const parts = { clock: shell.clock, files: () => inUse.files, changed: takeOver };
  return new ConfigWatch(parts, state);
}

function isDifferent({ added, removed, changed, settings }: AppliedConfig): boolean {
  return [added, removed, changed, settings].some((list) => list.length > 0);
}
