// Damages a real network between the workers of a fleet and its broker: each side is in a network namespace of its own,
// and the cable between them is pulled out, loses everything in one direction, or is slow and loses packets, in the
// middle of calls. The broker is the embedded one, with a certificate made here, and the orchestrator is beside it.
// Judged as kills are.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { BrokerProcess } from '../support/broker-process.ts';
import { Fleet, type FleetBroker } from '../support/fleet.ts';
import { linkFaults, NetworkNamespaces } from '../support/network-namespaces.ts';
import { Callers } from './callers.ts';
import { damageInTurn, longestMs, longMs, shortMs } from './cuts.ts';
import { type FleetFindings, findingsOf, provedServers } from './findings.ts';

export interface NetworkCutOptions {
  readonly cuts: number;
  readonly workers: number;
  /** Every second round of all faults lasts so long that a silent link is given up. */
  readonly hasLong: boolean;
  /** TCP gives connections up so soon that two seconds of silence end them. */
  readonly isHurried?: boolean;
  readonly progress: (text: string) => void;
}

export interface NetworkFindings extends FleetFindings {
  /** How a slow link was made. */
  readonly slowness: string;
}

/** In words, if there can be no network namespaces here. */
export async function cutNetwork(options: NetworkCutOptions): Promise<NetworkFindings | string> {
  const { cuts, workers, hasLong, progress } = options;
  const made = NetworkNamespaces.make();
  if (typeof made === 'string') return made;
  using network = made;
  if (options.isHurried === true) network.hurry(2);
  const { ledger, config } = provedServers();
  await using fleet = await Fleet.start(await brokerIn(network), config);
  const callers = new Callers(fleet);
  await callers.start(workers);
  const recoveriesMs = await damageInTurn(callers, cuts, progress, (cut) => {
    const fault = linkFaults[cut % linkFaults.length] ?? 'down';
    const isLong = hasLong && Math.floor(cut / linkFaults.length) % 2 === 1;
    return {
      words: `network ${fault}`,
      ms: isLong && fault !== 'slow' ? longMs : shortMs,
      begin: () => network.damage(fault),
      mend: () => network.mend(),
    };
  });
  await callers.end();
  const found = findingsOf(callers, ledger, recoveriesMs, longestMs);
  return { ...found, slowness: network.slowness };
}

/** Off loopback it has to have a certificate. */
async function brokerIn(network: NetworkNamespaces): Promise<FleetBroker> {
  const broker = await BrokerProcess.prepared();
  try {
    const ca = join(broker.dir, 'cert.pem');
    const key = join(broker.dir, 'key.pem');
    const names = `subjectAltName=IP:${network.address}`;
    const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'];
    const about = ['-subj', '/CN=broker', '-addext', names, '-out', ca, '-keyout', key];
    execFileSync('openssl', [...request, ...about], { stdio: 'ignore' });
    const words = ['--listen', `${network.address}:0`, '--tls-cert', ca, '--tls-key', key];
    const through = network.inside('broker');
    await broker.launch(words, through);
    return {
      url: broker.url,
      through,
      workersThrough: network.inside('worker'),
      ca,
      credential: (member) => broker.secretOf(member),
      restart: () => broker.restart(),
      [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose](),
    };
  } catch (error) {
    await broker[Symbol.asyncDispose]();
    throw error;
  }
}
