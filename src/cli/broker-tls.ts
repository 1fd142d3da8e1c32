// The certificate and the key of a broker, and whether it needs them: what is sent to an address that is not
// loopback passes other machines, with the credential in it.

import { createSecureContext } from 'node:tls';
import { addressText, type ListenAddress } from '../downstream/http/access/listen-address.ts';
import { Fault } from '../kernel/fault.ts';
import { isLoopback } from '../kernel/loopback.ts';
import { readSecretFile } from '../kernel/secret-file.ts';

export interface TlsOptions {
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}

export interface TlsFiles {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Throws a Fault unless only this machine can reach the address. */
export function assertLoopback(address: ListenAddress): void {
  if (isLoopback(address.host)) return;
  throw refusal(
    `refusing to listen on ${addressText(address)} without TLS: credentials and letters could be read on their way; set --tls-cert FILE and --tls-key FILE, or listen on 127.0.0.1`,
  );
}

const maxBytes = 1_048_576;

/** Undefined: without TLS. Throws a Fault for files that cannot be used. */
export async function tlsFiles({ tlsCert, tlsKey }: TlsOptions): Promise<TlsFiles | undefined> {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined) throw refusal('--tls-key needs its certificate: set --tls-cert FILE');
  if (tlsKey === undefined) throw refusal('--tls-cert needs its private key: set --tls-key FILE');
  const cert = await content('--tls-cert', tlsCert);
  const key = await content('--tls-key', tlsKey);
  assertUsable({ cert }, `--tls-cert: ${tlsCert} is no certificate in PEM`);
  assertUsable({ key }, `--tls-key: ${tlsKey} is no private key in PEM without a passphrase`);
  assertUsable({ cert, key }, `the key ${tlsKey} does not belong to the certificate ${tlsCert}`);
  return { cert, key };
}

async function content(option: string, path: string): Promise<Buffer> {
  const read = await readSecretFile(path, maxBytes);
  if (read.kind === 'content') return read.bytes;
  throw refusal(`${option}: ${path} ${read.cause}`);
}

function assertUsable(files: Partial<TlsFiles>, otherwise: string): void {
  try {
    createSecureContext(files);
  } catch (error) {
    throw new Fault('invalid_request', otherwise, {}, error);
  }
}

function refusal(text: string): Fault {
  return new Fault('invalid_request', text);
}
