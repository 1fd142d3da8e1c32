// The config of a NATS server for a fleet. Each mailbox is an account of its own, with its streams in it; that of a worker
// is another one for each credential, so that nobody reads the mail of an earlier holder of the name. An account
// sees nothing of another but what this config lets through: letters to those that the identity may write to, with
// its own name, role, credential and nothing else in the subject. Permissions of users within one account would not do: the
// server sends answers to any reply address that a client names, with its own rights, so that a worker which may
// ask for its own mail could delete the streams of others (docs/decisions/0026-broker.md).

import { BrokerError } from '../broker-error.ts';
import { memberName } from '../credentials/credential-record.ts';
import { type Identity, mayWrite, senderOf } from '../identity.ts';
import { mailboxBytes } from './limits.ts';
import {
  anyCredential,
  anySeat,
  ownSubject,
  partOf,
  queuesSubject,
  senderParts,
  whoSubject,
} from './subjects.ts';

export interface NatsMember {
  readonly identity: Identity;
  /** A password (or its bcrypt hash), or the public key of an nkey. */
  readonly credential: { readonly password: string } | { readonly nkey: string };
}

export interface NatsConfigOptions {
  /** Where the server keeps letters. */
  readonly storeDir: string;
  /** `HOST:PORT`. */
  readonly listen?: string;
  /** Files of the certificate and its key. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** How a command names the directory of the members, such as " --dir DIR"; absent: it need not be named. */
  readonly where?: string;
}

/** Above the longest body, for headers. */
const maxPayload = 1024 * 1024 + 64 * 1024;

/** Throws a BrokerError if a member has what a NATS server cannot do. */
export function natsConfig(members: readonly NatsMember[], options: NatsConfigOptions): string {
  const { storeDir, listen = '127.0.0.1:4222', tls } = options;
  for (const { identity } of members) assertLasting(identity, options);
  const identities = members.map(({ identity }) => identity);
  const accounts = members.map((member) => account(member, identities));
  return [
    '# A NATS server as a Holdfast broker: one account for each mailbox. It needs nats-server 2.9 or newer.',
    '# A server that runs has to be reloaded twice after a change (nats-server --signal reload=PID), a second apart:',
    '# nats-server connects the accounts that are new to it only with the reload after that.',
    `listen: ${text(listen)}`,
    `max_payload: ${maxPayload}`,
    ...(tls === undefined
      ? []
      : [`tls { cert_file: ${text(tls.certFile)}, key_file: ${text(tls.keyFile)} }`]),
    `jetstream { store_dir: ${text(storeDir)} }`,
    'accounts {',
    ...accounts,
    '}',
    '',
  ].join('\n');
}

function assertLasting(identity: Identity, { where = '' }: NatsConfigOptions): void {
  if (identity.expiresAt === null) return;
  const name = memberName(identity);
  const { kind, role, to } = identity;
  const rest = kind === 'worker' ? ` --role ${role} --to ${to.join(' ')}` : '';
  const words = `the credential of ${name} expires, and a user in the config of a NATS server cannot: exchange it for one that does not, with holdfast token revoke ${name}${where}, and holdfast token add --${kind} ${name}${rest}${where}`;
  throw new BrokerError('unsupported', words);
}

function account({ identity, credential }: NatsMember, all: readonly Identity[]): string {
  const { mailbox } = identity;
  const readers = all.filter((other) => mayWrite(identity, other));
  const writers = all.filter((other) => mayWrite(other, identity));
  const user =
    'nkey' in credential
      ? `nkey: ${text(credential.nkey)}`
      : `user: ${text(mailbox)}, password: ${text(credential.password)}`;
  return [
    `  ${text(accountOf(identity))} {`,
    `    jetstream: ${jetStreamOf(identity)}`,
    `    users: [ { ${user}`,
    '      permissions: {',
    `        publish: ${list(mayPublish(identity, readers))}`,
    `        subscribe: ${list(maySubscribe(identity, readers))}`,
    '      } } ]',
    `    exports: [${exportsOf(identity, readers, writers).map((line) => `\n      ${line}`)}`,
    '    ]',
    `    imports: [${importsOf(identity, readers, writers).map((line) => `\n      ${line}`)}`,
    '    ]',
    '  }',
  ].join('\n');
}

/** A worker cannot take the disk of others. */
function jetStreamOf({ kind }: Identity): string {
  if (kind === 'orchestrator') return 'enabled';
  return `{ max_file: ${4 * mailboxBytes.worker}, max_mem: 4194304, max_streams: 32, max_consumers: 512 }`;
}

function mayPublish(identity: Identity, readers: readonly Identity[]): readonly string[] {
  const { mailbox } = identity;
  return [
    ...readers.flatMap((to) => [
      ...letters('mail', to, identity),
      ...letters('tell', to, identity),
      queuesSubject(to.mailbox),
    ]),
    ...(identity.kind === 'orchestrator' ? [whoSubject(mailbox)] : []),
    ownSubject(mailbox, '>'),
    // Of its own account.
    '$JS.API.>',
    '$JS.ACK.>',
  ];
}

function maySubscribe({ mailbox, kind }: Identity, readers: readonly Identity[]) {
  return [
    `_INBOX.${partOf(mailbox)}.>`,
    `hf.tell.${partOf(mailbox)}.>`,
    ownSubject(mailbox, '>'),
    ...(kind === 'worker' ? readers.map((to) => whoSubject(to.mailbox)) : []),
  ];
}

/** A told letter is a stream of its sender, a kept one a service of its reader, which confirms it. */
function exportsOf(
  identity: Identity,
  readers: readonly Identity[],
  writers: readonly Identity[],
): readonly string[] {
  return [
    ...writers.flatMap((from) => exportedAll('service', letters('mail', identity, from), from)),
    ...(writers.length === 0 ? [] : [exported('service', '$JS.API.STREAM.NAMES', writers)]),
    ...readers.flatMap((to) => exportedAll('stream', letters('tell', to, identity), to)),
    ...(identity.kind === 'orchestrator' && readers.length > 0
      ? [exported('stream', whoSubject(identity.mailbox), readers)]
      : []),
  ];
}

function importsOf(
  identity: Identity,
  readers: readonly Identity[],
  writers: readonly Identity[],
): readonly string[] {
  return [
    ...readers.flatMap((to) => importedAll('service', to, letters('mail', to, identity))),
    ...readers.map((to) =>
      imported('service', to, '$JS.API.STREAM.NAMES', queuesSubject(to.mailbox)),
    ),
    ...writers.flatMap((from) => importedAll('stream', from, letters('tell', identity, from))),
    ...(identity.kind === 'worker'
      ? readers.map((to) => imported('stream', to, whoSubject(to.mailbox)))
      : []),
  ];
}

/** "@" is in no name of ours. */
function accountOf({ mailbox, kind, id }: Identity): string {
  return kind === 'worker' && id !== undefined ? `${partOf(mailbox)}@${id}` : partOf(mailbox);
}

/**
 * Every letter from one to the other, of any kind and from any seat: for whoever has the mailbox, and for the present
 * credential of a worker. A worker writes to no single seat of an orchestrator: what is kept for one that does not exist
 * would be read by nobody, and take the room of all.
 */
function letters(way: 'mail' | 'tell', to: Identity, from: Identity): readonly string[] {
  const place = way === 'mail' && to.kind === 'orchestrator' ? anySeat : '*';
  const { credential } = senderOf(to, '*');
  const recipients = credential === undefined ? [anyCredential] : [anyCredential, credential];
  const sender = senderParts(senderOf(from, '*'));
  return recipients.map((one) => `hf.${way}.${partOf(to.mailbox)}.${one}.*.${place}.${sender}`);
}

function exportedAll(
  what: 'service' | 'stream',
  subjects: readonly string[],
  to: Identity,
): readonly string[] {
  return subjects.map((subject) => exported(what, subject, [to]));
}

function importedAll(
  what: 'service' | 'stream',
  from: Identity,
  subjects: readonly string[],
): readonly string[] {
  return subjects.map((subject) => imported(what, from, subject));
}

function exported(what: 'service' | 'stream', subject: string, to: readonly Identity[]): string {
  return `{ ${what}: ${text(subject)}, accounts: ${list(to.map(accountOf))} }`;
}

function imported(
  what: 'service' | 'stream',
  from: Identity,
  subject: string,
  as?: string,
): string {
  const named = as === undefined ? '' : `, to: ${text(as)}`;
  return `{ ${what}: { account: ${text(accountOf(from))}, subject: ${text(subject)} }${named} }`;
}

function list(texts: readonly string[]): string {
  return `[${texts.map(text).join(', ')}]`;
}

/** The config of NATS knows the escapes that JSON writes for a quote and a backslash. */
function text(value: string): string {
  return JSON.stringify(value);
}
