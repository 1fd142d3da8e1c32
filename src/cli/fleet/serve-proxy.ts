// The MCP server of a worker: a gateway whose one server is the orchestrator behind the broker, for one client on
// standard input and output. Loaded when it is to run.

import { Gateway } from '../../downstream/gateway.ts';
import { type WorkerOptions, workerHost } from '../../fleet/worker/worker-host.ts';
import { ownIdentity } from '../../host/identity.ts';
import { Fault } from '../../kernel/fault.ts';
import { localUser } from '../../policy/principal.ts';
import { serveClient } from '../gateway/serve-streams.ts';
import { FailureLines } from '../render/failure-lines.ts';
import { remark, type Shell } from '../shell.ts';
import { brokerFault } from './broker-fault.ts';

export async function serveProxy(shell: Shell, options: WorkerOptions): Promise<number> {
  const { host, server } = opened(shell, options);
  const failures = new FailureLines();
  host.onEvent((event) => {
    const line = failures.lineFor(event);
    if (line !== undefined) remark(shell, line);
  });
  let said = '';
  const notGiven = ({ message }: Fault) => {
    // Each client asks again, and again.
    if (message !== said) remark(shell, `${server} has not given a list: ${message}`);
    said = message;
  };
  try {
    const { naming, surface, hostTools, listWaitMs } = host.config;
    await using gateway = new Gateway({
      host,
      clock: host.clock,
      identity: ownIdentity(),
      settings: { naming, surface, hostTools, listWaitMs, onlyServer: server },
      notGiven,
    });
    // The names of the orchestrator, unchanged.
    const principal = gateway.narrowed(localUser, { kind: 'server', name: server });
    if (principal === undefined) throw new Fault('internal', 'the orchestrator is no server');
    return await serveClient({ shell, host, gateway, principal });
  } finally {
    await host.close();
  }
}

function opened(shell: Shell, options: WorkerOptions) {
  try {
    return workerHost(options, {
      env: shell.env,
      folder: shell.cwd,
      stateDir: null,
      startedBy: 'proxy',
      hasClients: true,
      report: (line) => remark(shell, line),
    });
  } catch (error) {
    throw brokerFault(error);
  }
}
