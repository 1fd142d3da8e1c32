// The worker's side of a fleet for programs: the tools of an orchestrator, through a broker, as a host.

import { BrokerError } from '../../broker/broker-error.ts';
import type { Host } from '../../host/host.ts';
import { Fault } from '../../kernel/fault.ts';
import { processEnvironment } from '../../supervise/process/start/environment.ts';
import { workerHost } from './worker-host.ts';

/** What `connectWorker` takes. */
export interface ConnectWorkerOptions {
  /** The address of the broker: `ws://`, `wss://`, `nats://` or `tls://HOST:PORT`. */
  readonly broker: string;
  /** The name of the orchestrator (`holdfast serve --as NAME`). */
  readonly to: string;
  /** The secret that `holdfast token add --worker` has printed. */
  readonly credential: string;
  /** Certificates to trust besides those of the system, in PEM. Absent: none. */
  readonly ca?: string | undefined;
  /** Called with one line for each problem with the broker. Absent: the line goes to standard error. */
  readonly report?: ((line: string) => void) | undefined;
}

/**
 * A host whose one server is the orchestrator, by its name. What it offers is what the orchestrator's config allows
 * the role of the credential. The link is opened by the first call, and comes back by itself.
 *
 * Throws a `Fault` if the address or the credential can never be used.
 */
export async function connectWorker(options: ConnectWorkerOptions): Promise<Host> {
  const { broker, to, credential, ca, report } = options;
  try {
    const { host } = workerHost(
      { broker, to, credential, ca },
      {
        env: processEnvironment(),
        folder: process.cwd(),
        stateDir: null,
        startedBy: 'library',
        report: report ?? ((line) => void process.stderr.write(`${line}\n`)),
      },
    );
    return host;
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    throw new Fault('invalid_request', error.message, {}, error);
  }
}
