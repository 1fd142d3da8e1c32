// Takes over a changed config while a gateway runs. A config that cannot be used changes nothing, and one
// line says why. Who may do what changes as soon as the file is read; servers may take longer to end.

import type { ReadConfig } from '../../config/load.ts';
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
  let wasRefused = false;
  const failed = (error: unknown) => {
    const isFault = error instanceof Fault;
    const fault = isFault ? error : host.defects.caught('the config file', error);
    if (fault.code === 'draining') return;
    wasRefused = true;
    remark(shell, `the config has changed and is not taken over: ${fault.message}`);
  };
  const finish = async (loaded: ReadConfig, applying: Promise<AppliedConfig>) => {
    const before = beforeIn(host.status());
    const applied = await applying;
    inUse.take(loaded);
    for (const { name, cause } of applied.failed) remark(shell, `${name}: ${cause}`);
    const isChanged = isDifferent(applied);
    const lines = isChanged ? planLines({ ...applied, disabled: [], isDone: true }, before) : [];
    for (const line of lines) remark(shell, `the config has changed: ${line}`);
    if (wasRefused && !isChanged) {
      remark(shell, 'the config file can be used again, and is as it is in use');
    }
    wasRefused = false;
  };
  // One is read after the other, but the next one does not wait for servers that end because of this one.
  const takeOver = async () => {
    try {
      const loaded = await inUse.read();
      finish(loaded, host.applyLoaded(loaded)).catch(failed);
    } catch (error) {
      failed(error);
    }
  };
  let reading: Promise<void> = Promise.resolve();
  const changed = () => {
    reading = reading.then(takeOver);
    return reading;
  };
  return new ConfigWatch({ clock: shell.clock, files: () => inUse.files, changed }, state);
}

function isDifferent({ added, removed, changed, settings }: AppliedConfig): boolean {
  return [added, removed, changed, settings].some((list) => list.length > 0);
}
