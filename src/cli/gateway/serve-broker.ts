// Serves workers behind a broker, beside the other clients of a gateway: with `serve --broker URL --as NAME`, or as
// the config says. A worker is a principal of its own, with the role of its credential.

import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { BrokerError } from '../../broker/broker-error.ts';
import type { Link } from '../../broker/contract.ts';
import { linkOpener } from '../../broker/open-link.ts';
import type { Gateway } from '../../downstream/gateway.ts';
import { orchestratorKinds } from '../../fleet/mail-kinds.ts';
import { BrokerFront } from '../../fleet/orchestrator/broker-front.ts';
import { isStoreIdentity, storeIdentity } from '../../fleet/orchestrator/call-store.ts';
import { Orchestrator } from '../../fleet/orchestrator/orchestrator.ts';
import { workerPrincipal } from '../../fleet/orchestrator/worker-principal.ts';
import { randomSeat } from '../../fleet/seat.ts';
import type { OpenedHost } from '../../host/create-host.ts';
import { brokerCredential } from '../fleet/broker-credential.ts';
import { brokerFault } from '../fleet/broker-fault.ts';
import { remark, type Shell } from '../shell.ts';
import type { WorkersTurn } from './rollout/workers.ts';

export interface BrokerAddress {
  readonly url: string;
  /** Our mailbox. */
  readonly as: string;
  readonly tokenFile?: string | undefined;
  /** Certificates to trust besides those of the system, in PEM. */
  readonly ca?: string | undefined;
}

/** Throws a Fault if it can never work; otherwise the link is opened meanwhile. */
export async function serveBroker(
  shell: Shell,
  { host, gateway }: { readonly host: OpenedHost; readonly gateway: Gateway },
  { url, as, tokenFile, ca }: BrokerAddress,
  turn: WorkersTurn,
): Promise<Orchestrator> {
  const credential = await brokerCredential(shell, tokenFile);
  const { clock, access, defects } = host;
  const caught = (error: unknown) => void defects.caught('a message of the broker', error);
  const report = (text: string) => remark(shell, text);
  const isEnding = () => !gateway.isAccepting || turn.isOver();
  const front = new BrokerFront({
    gateway,
    clock,
    isEnding,
    cancelled: turn.cancelled,
    incarnation: randomSeat(),
    principalOf: (sender) => workerPrincipal(sender, (role) => access.roles.isOperator(role)),
  });
  const store = host.records('call-store', { durability: 'durable', shape: isStoreIdentity });
  try {
    const openLink = linkOpener({
      ...{ url, credential, ca, clock, report, caught, holder: 'orchestrator' },
      seat: seatOf(host.configFile),
      mailbox: as,
      kinds: orchestratorKinds,
      store: () => storeIdentity(store),
    });
    return Orchestrator.start({
      address: { url, as },
      openLink: async (signal) => {
        await turn.begins;
        const link = await openLink(signal).catch((error: unknown) => {
          throw withStoreWords(error, as);
        });
        return await assertMailbox(link, as);
      },
      ...{ front, clock, random: Math.random, report, caught, isEnding },
    });
  } catch (error) {
    throw brokerFault(error);
  }
}

/** The next process of this instance takes over at once what this one has left; another instance has another one. */
function seatOf(configFile: string | null): string {
  const place = JSON.stringify([hostname(), configFile]);
  return createHash('sha256').update(place).digest('hex').slice(0, 16);
}

/** What the broker has no room to say. */
function withStoreWords(error: unknown, as: string): unknown {
  if (!(error instanceof BrokerError) || error.reason !== 'other_store') return error;
  const words = `another gateway is ${as} there, or was until two minutes ago, and remembers calls in a store of its own: a call that comes to both would run twice; give both the same "store": "nats://…", or this one another name (a credential made where the broker runs, with: token add --orchestrator NAME)`;
  return new BrokerError('other_store', words);
}

/** The credential decides which mailbox it is. */
async function assertMailbox(link: Link, as: string): Promise<Link> {
  const { mailbox } = link.self;
  if (mailbox === as) return link;
  await link.close();
  const told = `this credential is of ${mailbox}, not of ${as}: use --as ${mailbox}, or another credential`;
  throw new BrokerError('unauthorized', told);
}
