// holdfast token add, list and revoke: the access tokens of a config, for programs that come over HTTP. They
// need no running gateway; one that runs notices a change by itself. The secret is the only thing on standard
// output when a token is added, so that a script can keep it.

import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { nearestWord } from '../../config/nearest-word.ts';
import { localTokenId } from '../../downstream/http/access/token-record.ts';
import { Fault } from '../../kernel/fault.ts';
import { ownValue } from '../../kernel/own-value.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { durationText } from '../render/quantity.ts';
import { tokenLines } from '../render/token-page.ts';
import { remark, type Shell } from '../shell.ts';
import { loadedConfig } from '../standalone.ts';
import { addToken, listedTokens, revokeToken } from '../token-book.ts';
import { lifetimeFrom } from '../token-lifetime.ts';
import { withTokenRecords } from '../token-records.ts';

const help = `
A token lets a program use this gateway over HTTP, as far as its role allows ("roles" in the config).
It belongs to this config. A running gateway notices it by itself, within half a second.
The token of the local user ('local') is made and shown by the first "holdfast serve" that listens while
there is no token at all, is valid for every config of this user, and has no role of its own ("local.role" in the
config applies). If it is lost: revoke it and the tokens of the config, and start again; or add a token for a role.

Examples:
  holdfast token add --role researcher --name ci --expires 30d
  holdfast token list
  holdfast token revoke ci`;

const addHelp = `
The secret is printed once, on standard output, and stored only as a hash. Clients send it as
"Authorization: Bearer SECRET".
With --json: {"token": the secret, "id", "name", "role", "createdAt", "expiresAt"}; times are
milliseconds since 1970, "expiresAt" is null if it does not expire.

Example:
  holdfast token add --role researcher --name ci --expires 30d`;

const listHelp = `
The last use is known to the minute.
With --json: {"tokens": [{"id", "name", "role", "createdAt", "expiresAt", "lastUsedAt"}]}; "role" is null
for the token of the local user; times are milliseconds since 1970 or null.

Example:
  holdfast token list`;

const revokeHelp = `
Its sessions, streams and running requests end within a second, and its next request is refused.
With --json: {"revoked": {"id", "name", "role", "createdAt", "expiresAt", "lastUsedAt"}}.

Example:
  holdfast token revoke ci`;

interface AddOptions {
  readonly role?: string;
  readonly name?: string;
  readonly expires?: string;
}

export function addTokenCommands(program: Command, perform: Perform): void {
  const token = program
    .command('token')
    .summary('add, list and revoke access tokens')
    .description('Access tokens for programs that use this gateway over HTTP.')
    .addHelpText('after', help);
  token
    .command('add')
    .summary('make a token and print it once')
    .description('Make an access token for a role of the config, and print it once.')
    .option('--role <ROLE>', 'the role of the config that says what it may use')
    .option('--name <NAME>', 'a name to know it by; without it, the role')
    .option(
      '--expires <TIME>',
      'how long it is valid, such as 30d, 12h or 90m; without it, for good',
    )
    .addHelpText('after', addHelp)
    .action((options: AddOptions, command: Command) =>
      perform(command, (invocation) => add(invocation, options)),
    );
  token
    .command('list')
    .summary('list the tokens of this config')
    .description('List the tokens of this config, with their roles and their last use.')
    .addHelpText('after', listHelp)
    .action((_: unknown, command: Command) => perform(command, list));
  token
    .command('revoke')
    .summary('end a token')
    .description('End a token: whoever holds it has no access any more.')
    .argument('<NAME|ID>', 'the name or the id of a token')
    .addHelpText('after', revokeHelp)
    .action((word: string, _: unknown, command: Command) =>
      perform(command, (invocation) => revoke(invocation, word)),
    );
}

async function add(
  { shell, configFile, isJson }: Invocation,
  options: AddOptions,
): Promise<number> {
  const { config, file } = await loadedConfig(shell, configFile);
  const role = knownRole(options.role, Object.keys(config.roles), file);
  const now = shell.clock.wallNow();
  const lifetime = options.expires === undefined ? undefined : lifetimeFrom(options.expires);
  const expiresAt = lifetime === undefined ? null : now + lifetime;
  const wish = { role, name: options.name, now, expiresAt };
  const { record, secret } = await withTokenRecords(shell, file ?? '', (records) =>
    addToken(records, wish),
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

/** Throws a Fault that says which roles there are. */
function knownRole(
  role: string | undefined,
  known: readonly string[],
  file: string | null,
): string {
  const none = `${file} has no roles: add one under "roles", such as "researcher": { "allow": ["docs/*"] }`;
  const all = known.length === 0 ? none : `the roles of ${file} are: ${known.join(', ')}`;
  if (role === undefined) {
    throw new Fault(
      'invalid_request',
      `--role is missing: a token may use what its role allows, so name one with --role ROLE; ${all}`,
    );
  }
  if (known.includes(role)) return role;
  const near = nearestWord(role, known);
  const hint = near === undefined ? '' : `; did you mean '${near}'?`;
  throw new Fault('invalid_request', `there is no role '${role}' in the config${hint}; ${all}`);
}

async function list({ shell, configFile, isJson }: Invocation): Promise<number> {
  const { file, roles, localRole } = await meantConfig(shell, configFile);
  const tokens = await withTokenRecords(shell, file, listedTokens);
  const { out, clock } = shell;
  if (isJson) out.json({ tokens });
  else {
    const page = { tokens, roles, localRole, now: clock.wallNow() };
    for (const line of tokenLines(page, out.style, out.columns)) out.line(shell.steps(line));
  }
  return exitCodes.ok;
}

async function revoke({ shell, configFile, isJson }: Invocation, word: string): Promise<number> {
  const { file } = await meantConfig(shell, configFile);
  const token = await withTokenRecords(shell, file, (records) => revokeToken(records, word));
  if (isJson) shell.out.json({ revoked: token });
  else {
    const { name, id, role } = token;
    const whose = role === null ? ', which was valid for every config,' : ` (${id})`;
    shell.out.line(`The token '${id === localTokenId ? id : name}'${whose} is revoked`);
    if (id === localTokenId) remark(shell, newLocalToken);
  }
  return exitCodes.ok;
}

const newLocalToken =
  'a start with "holdfast serve" makes and shows a new one if the config has no other tokens by then; a running gateway makes none; see: holdfast token list';

interface MeantConfig {
  readonly file: string;
  /** Undefined: it cannot be used now. Its tokens can be listed and revoked all the same. */
  readonly roles: ReadonlySet<string> | undefined;
  readonly localRole: string | null;
}

async function meantConfig(shell: Shell, named: string | undefined): Promise<MeantConfig> {
  try {
    const { file, config } = await loadedConfig(shell, named);
    if (file !== null) {
      const { roles, local } = config;
      return { file, roles: new Set(Object.keys(roles)), localRole: local.role };
    }
  } catch (thrown) {
    const { locatedConfig } = await import('../../config/load.ts');
    const file = locatedConfig(named, shell.cwd, shell.env);
    if (!(thrown instanceof Fault) || file === undefined || !existsSync(file)) throw thrown;
    return { file, roles: undefined, localRole: null };
  }
  throw new Fault('invalid_request', 'the config has no file, and so no tokens');
}
