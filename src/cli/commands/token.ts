// holdfast token add, list and revoke: the access tokens of a config, for programs that come over HTTP, and the
// credentials of its broker (`credential.ts`). They need no running gateway or broker; one that runs notices a
// change by itself. The secret is the only thing on standard output when a token is added, so that a script can
// keep it.

import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { localTokenId } from '../../downstream/http/access/token-record.ts';
import { Fault } from '../../kernel/fault.ts';
import { ownValue } from '../../kernel/own-value.ts';
import { brokerPlace, withCredentials } from '../broker-place.ts';
import { listedCredentials } from '../credential-book.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { credentialLines } from '../render/credential-page.ts';
import { durationText } from '../render/quantity.ts';
import { tokenLines } from '../render/token-page.ts';
import { remark, type Shell } from '../shell.ts';
import { loadedConfig } from '../standalone.ts';
import { addToken, listedTokens } from '../token-book.ts';
import { lifetimeFrom } from '../token-lifetime.ts';
import { type TokenOwner, withTokenRecords } from '../token-records.ts';
import { revokeAnywhere } from '../token-revocation.ts';
import { knownRole } from '../token-role.ts';
import { addForBroker, type CredentialOptions, isForBroker } from './credential.ts';

const help = `
A token lets a program use this gateway over HTTP, as far as its role allows ("roles" in the config).
It belongs to this config. A running gateway notices it by itself, within half a second.
The token of the local user ('local') is made and shown by the first "holdfast serve" that listens while
there is no token at all, is valid for every config of this user, and has no role of its own ("local.role" in the
config applies). If it is lost: revoke it and the tokens of the config, and start again; or add a token for a role.
The credential of a worker or an orchestrator is a token for the broker: it says whose mailbox it is, which role a
worker has, and whom it may write to. It lies in the broker's directory, by default the one of this config.

Examples:
  holdfast token add --role researcher --name ci --expires 30d
  holdfast token add --worker ann --role researcher --to boss
  holdfast token list
  holdfast token revoke ci`;

const addHelp = `
The secret is printed once, on standard output, and stored only as a hash. Clients send it as
"Authorization: Bearer SECRET".
With --json: {"token": the secret, "id", "name", "role", "createdAt", "expiresAt"}; times are
milliseconds since 1970, "expiresAt" is null if it does not expire.
With --worker or --orchestrator: {"token", "name", "mailbox", "kind", "role", "to", "createdAt", "expiresAt", "id"}.
A mailbox has one credential: revoke it before you make the next. Whether a role may use something is decided by
the config of the orchestrator.

Examples:
  holdfast token add --role researcher --name ci --expires 30d
  holdfast token add --orchestrator boss
  holdfast token add --worker ann --role researcher --to boss --expires 30d`;

const listHelp = `
The last use is known to the minute.
With --json: {"tokens": [{"id", "name", "role", "createdAt", "expiresAt", "lastUsedAt"}], "credentials":
[{"name", "mailbox", "kind", "role", "to", "createdAt", "expiresAt", "id"}]}; "role" is null for the token of
the local user and for orchestrators; times are milliseconds since 1970 or null. With --dir only "credentials".

Example:
  holdfast token list`;

const revokeHelp = `
Its sessions, streams, running requests or links end within a second, and its next request is refused.
With --json: {"revoked": {"id", "name", "role", "createdAt", "expiresAt", "lastUsedAt"}}, or what
"token list" says of a credential.

Example:
  holdfast token revoke ci`;

interface PlaceOptions {
  readonly dir?: string;
}

const ofBroker = 'the directory of a broker; without it, the one of this config';

export function addTokenCommands(program: Command, perform: Perform): void {
  const token = program
    .command('token')
    .summary('add, list and revoke access tokens')
    .description(
      'Access tokens for programs that use this gateway over HTTP, and credentials of its broker.',
    )
    .addHelpText('after', help);
  token
    .command('add')
    .summary('make a token and print it once')
    .description(
      'Make an access token for a role, or a credential of the broker, and print it once.',
    )
    .option('--role <ROLE>', 'the role of the config that says what it may use')
    .option('--name <NAME>', 'a name to know it by; without it, the role')
    .option(
      '--expires <TIME>',
      'how long it is valid, such as 30d, 12h or 90m; without it, for good',
    )
    .option('--worker <NAME>', 'a credential for a worker of this name, with --role and --to')
    .option('--to <ORCHESTRATOR...>', 'the orchestrators that the worker may write to')
    .option('--orchestrator <NAME>', 'a credential for an orchestrator of this name')
    .option('--dir <DIR>', ofBroker)
    .addHelpText('after', addHelp)
    .action((options: CredentialOptions, command: Command) =>
      perform(command, (invocation) => add(invocation, options)),
    );
  token
    .command('list')
    .summary('list the tokens of this config')
    .description('List the tokens of this config and the credentials of its broker.')
    .option('--dir <DIR>', `${ofBroker}: only its credentials`)
    .addHelpText('after', listHelp)
    .action((options: PlaceOptions, command: Command) =>
      perform(command, (invocation) => list(invocation, options)),
    );
  token
    .command('revoke')
    .summary('end a token')
    .description('End a token or a credential: whoever holds it has no access any more.')
    .argument('<NAME|ID>', 'the name or the id of a token, a worker or an orchestrator')
    .option('--dir <DIR>', `${ofBroker}: only its credentials`)
    .addHelpText('after', revokeHelp)
    .action((word: string, options: PlaceOptions, command: Command) =>
      perform(command, (invocation) => revoke(invocation, word, options)),
    );
}

async function add(invocation: Invocation, options: CredentialOptions): Promise<number> {
  if (isForBroker(options)) return await addForBroker(invocation, options);
  const { shell, configFile, isJson } = invocation;
  const { config, file } = await loadedConfig(shell, configFile);
  const role = knownRole(options.role, Object.keys(config.roles), file);
  const now = shell.clock.wallNow();
  const lifetime = options.expires === undefined ? undefined : lifetimeFrom(options.expires);
  const expiresAt = lifetime === undefined ? null : now + lifetime;
  const wish = { role, name: options.name, now, expiresAt };
  const { record, secret } = await withTokenRecords(
    shell,
    { file: file ?? '', store: config.store },
    (records) => addToken(records, wish),
  );
  const { hash: _, ...told } = record;
  if (isJson) shell.out.json({ token: secret, ...told });
  else {
    shell.out.line(secret);
    const end = lifetime === undefined ? 'does not expire' : `expires in ${durationText(lifetime)}`;
    shell.err.line(
      shell.steps(
        `The token '${record.name}' has the role '${role}' and ${end}. It is shown only now; end it with: holdfast token revoke ${record.name}`,
      ),
    );
  }
  if (ownValue(config.roles, role)?.allow.length === 0) {
    const told = `the role '${role}' may use nothing, because its "allow" is empty; add patterns there, such as "docs/*"`;
    remark(shell, told);
  }
  if (config.http.auth === 'none') {
    remark(shell, '"http.auth" is "none", so no token is asked for: set it to "token"');
  }
  return exitCodes.ok;
}

async function list(
  { shell, configFile, isJson }: Invocation,
  { dir }: PlaceOptions,
): Promise<number> {
  const { out, clock } = shell;
  const place = await brokerPlace(shell, dir, configFile);
  const credentials = await withCredentials(shell, place, listedCredentials);
  const now = clock.wallNow();
  const show = (lines: readonly string[]) => {
    for (const line of lines) out.line(shell.steps(line));
  };
  const showCredentials = () => show(credentialLines(credentials, now, out.style, out.columns));
  if (dir !== undefined) {
    if (isJson) out.json({ credentials });
    else if (credentials.length > 0) showCredentials();
    else show([`No credentials in ${place.folder}.`]);
    return exitCodes.ok;
  }
  const { roles, localRole, ...owner } = await meantConfig(shell, configFile);
  const tokens = await withTokenRecords(shell, owner, listedTokens);
  if (isJson) out.json({ tokens, credentials });
  else {
    const page = { tokens, roles, localRole, now };
    if (tokens.length > 0 || credentials.length === 0)
      show(tokenLines(page, out.style, out.columns));
    if (tokens.length > 0 && credentials.length > 0) out.line();
    if (credentials.length > 0) showCredentials();
  }
  return exitCodes.ok;
}

async function revoke(
  { shell, configFile, isJson }: Invocation,
  word: string,
  { dir }: PlaceOptions,
): Promise<number> {
  const place = await brokerPlace(shell, dir, configFile);
  const owner = dir === undefined ? await meantConfig(shell, configFile) : undefined;
  const revoked = await revokeAnywhere(shell, owner, place, word);
  if (isJson) shell.out.json({ revoked });
  else if ('kind' in revoked) {
    const { kind, name, id } = revoked;
    shell.out.line(`The credential of the ${kind} '${name}' (${id}) is revoked`);
  } else {
    const { name, id, role } = revoked;
    const whose = role === null ? ', which was valid for every config,' : ` (${id})`;
    shell.out.line(`The token '${id === localTokenId ? id : name}'${whose} is revoked`);
    if (id === localTokenId) remark(shell, newLocalToken);
  }
  return exitCodes.ok;
}

const newLocalToken =
  'a start with "holdfast serve" makes and shows a new one if the config has no other tokens by then; a running gateway makes none; see: holdfast token list';

interface MeantConfig extends TokenOwner {
  /** Undefined: it cannot be used now. Its tokens can be listed and revoked all the same. */
  readonly roles: ReadonlySet<string> | undefined;
  readonly localRole: string | null;
}

async function meantConfig(shell: Shell, named: string | undefined): Promise<MeantConfig> {
  try {
    const { file, config } = await loadedConfig(shell, named);
    if (file !== null) {
      const { roles, local, store } = config;
      return { file, store, roles: new Set(Object.keys(roles)), localRole: local.role };
    }
  } catch (thrown) {
    const { locatedConfig, storeNamedIn } = await import('../../config/load.ts');
    const file = locatedConfig(named, shell.cwd, shell.env);
    if (!(thrown instanceof Fault) || file === undefined || !existsSync(file)) throw thrown;
    return { file, store: storeNamedIn(file, shell.env), roles: undefined, localRole: null };
  }
  throw new Fault('invalid_request', 'the config has no file, and so no tokens');
}
