// The check of the broker of a config, where no instance runs that could tell: a link is opened as the instance would
// open it, in a seat of its own, and closed again.

import { dirname, resolve } from 'node:path';
import { BrokerError } from '../../broker/broker-error.ts';
import { linkOpener } from '../../broker/open-link.ts';
import type { LoadedConfig } from '../../config/loaded.ts';
import { orchestratorKinds } from '../../fleet/mail-kinds.ts';
import { randomSeat } from '../../fleet/seat.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { brokerCredential } from '../fleet/broker-credential.ts';
import { brokerRemedy } from '../render/broker-line.ts';
import type { Shell } from '../shell.ts';
import { type Check, finding, ok } from './check.ts';

/** Nothing if the config names none. */
export async function checkBrokerOf(
  shell: Shell,
  { config, file }: LoadedConfig,
): Promise<readonly Check[]> {
  const { broker } = config;
  if (broker === null) return [];
  const { url, as, tokenFile } = broker;
  const { clock } = shell;
  try {
    const named = tokenFile && resolve(dirname(file ?? shell.cwd), tokenFile);
    const credential = await brokerCredential(shell, named);
    const open = linkOpener({
      ...{ url, credential, clock, holder: 'orchestrator', kinds: orchestratorKinds },
      seat: randomSeat(),
      report: ignored,
      caught: ignored,
    });
    const link = await open(shell.interrupt.signal);
    const { mailbox } = link.self;
    await link.close();
    if (mailbox === as) return [ok('broker', `${url} can be reached, as ${as}`)];
    const words = `the credential for ${url} is of ${mailbox}, and "broker.as" is ${as}`;
    return [finding('broker', words, `set "broker.as" to ${mailbox}, or use another credential`)];
  } catch (error) {
    if (!(error instanceof BrokerError || error instanceof Fault)) throw error;
    return [finding('broker', error.message, remedyOf(error, url))];
  }
}

/** The command has no option for a certificate, and does not know how `serve` is started. */
function remedyOf(error: BrokerError | Fault, url: string): string {
  const isRefused = error instanceof Fault || error.isPermanent;
  const usual = brokerRemedy(isRefused);
  const isSecure = /^(?:wss|tls):/.test(url);
  if (!isSecure || error instanceof Fault || error.reason !== 'unsupported') return usual;
  return `if serve is started with --tls-ca FILE, look again with: NODE_EXTRA_CA_CERTS=FILE holdfast doctor; otherwise ${usual}`;
}
