// holdfast audit: the latest calls in the audit log of a config, and whether the log is as it was written.
// It reads files only: it needs no running instance and writes nothing.

import type { Command } from 'commander';
import type { AuditEntry } from '../../audit/recent.ts';
import type { VerifiedTrack } from '../../audit/verify.ts';
import { keyFileOf, realConfigPath } from '../../config/config-path.ts';
import type { LoadedConfig } from '../../config/loaded.ts';
import { auditFolderOf } from '../../config/state-folder.ts';
import { remedyFor } from '../../kernel/disk-remedy.ts';
import { errnoOf } from '../../kernel/errno.ts';
import { Fault } from '../../kernel/fault.ts';
import { printableLine } from '../../kernel/printable.ts';
import { StoreError } from '../../store/store-error.ts';
import { AuditFilter, type AuditWish, type KnownNames } from '../audit-filter.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { auditLine, trackNotes, verifiedText } from '../render/audit-lines.ts';
import { remark } from '../shell.ts';
import { loadedConfig } from '../standalone.ts';
import { ownStateDirectory } from '../state-directory.ts';
import { instanceStatus } from '../target.ts';

const help = `
The log is written if "audit" in the config is "on" or "required". It says who called what and how it
ended, and never has arguments or results. verify checks every line of every file and exits with 1 if one
was changed, removed, inserted or moved, and with 3 if none was, but files at the beginning are not here;
docs/audit.md says what cannot be detected.
With --json: one line for each call, {"at", "id", "principal", "token" (its name), "role", "path", "server", "what", "name",
"method", "outcome", "dispatched", "ms", "reason"}; "outcome" is null if the log has no end of the call.
verify --json: {"ok", "complete", "tracks": […], "faults": [{"file", "line", "text"}]}.

Examples:
  holdfast audit
  holdfast audit -n 100 --principal ci --server files
  holdfast audit verify`;

interface AuditOptions {
  readonly lines: string;
  readonly principal?: string;
  readonly server?: string;
}

export function addAudit(program: Command, perform: Perform): void {
  program
    .command('audit')
    .summary('show the audit log, or verify it')
    .description(
      'Show the latest calls in the audit log; with verify, check that nobody has changed it.',
    )
    .argument('[verify]', 'check every line of the log')
    .option('-n, --lines <N>', 'how many calls', '20')
    .option('--principal <WHO>', 'only calls of this token (its name or id), or of local')
    .option('--server <SERVER>', 'only calls of this server')
    .addHelpText('after', help)
    .action((action: string | undefined, options: AuditOptions, command: Command) =>
      perform(command, (invocation) => audit(invocation, action, options)),
    );
}

async function audit(
  invocation: Invocation,
  action: string | undefined,
  { lines, principal, server }: AuditOptions,
): Promise<number> {
  if (action !== undefined && action !== 'verify') {
    const told = `unknown action '${printableLine(action)}': there is only verify`;
    throw new Fault('invalid_request', `${told}; see: holdfast audit --help`);
  }
  if (!/^[1-9]\d{0,6}$/.test(lines)) {
    const told = `-n takes a number of calls, at least 1, not '${printableLine(lines)}'`;
    throw new Fault('invalid_request', `${told}; see: holdfast audit --help`);
  }
  const { shell, configFile } = invocation;
  const loaded = await loadedConfig(shell, configFile);
  const folder = auditFolderOf(await ownStateDirectory(shell), realConfigPath(loaded.file));
  try {
    return action === 'verify'
      ? await verify(invocation, loaded, folder)
      : await show(invocation, loaded, folder, { lines: Number(lines), principal, server });
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined) throw error;
    const told = `the audit log ${folder} cannot be read (${code})`;
    throw new Fault('unavailable', `${told}: ${remedyFor(code)}`, {}, error);
  }
}

async function show(
  { shell, isJson }: Invocation,
  loaded: LoadedConfig,
  folder: string,
  wish: AuditWish & { readonly lines: number },
): Promise<number> {
  const [{ recentCalls }, { nodeAuditDisk }] = await Promise.all([
    import('../../audit/recent.ts'),
    import('../../audit/audit-disk.ts'),
  ]);
  const filter = new AuditFilter(wish);
  const { isWanted } = filter;
  const entries = await recentCalls(nodeAuditDisk, folder, { limit: wish.lines, isWanted });
  const { out } = shell;
  for (const entry of entries) {
    if (isJson) out.json(entry satisfies AuditEntry);
    else out.line(auditLine(entry, shell.clock.wallNow(), out.style));
  }
  if (entries.length > 0) return exitCodes.ok;
  if (wish.principal === undefined && wish.server === undefined) {
    remark(shell, await noLog(shell, loaded, folder));
    return exitCodes.ok;
  }
  filter.assertKnown(await knownNames(shell, loaded));
  remark(shell, 'the audit log has no such call');
  return exitCodes.ok;
}

async function knownNames(
  shell: Invocation['shell'],
  { config, disabled, file }: LoadedConfig,
): Promise<KnownNames> {
  const [{ listedTokens }, { orAway, withTokenRecords }] = await Promise.all([
    import('../token-book.ts'),
    import('../token-records.ts'),
  ]);
  const { store } = config;
  const reading =
    file === null ? undefined : withTokenRecords(shell, { file, store }, listedTokens);
  const read = reading && (await orAway(reading));
  // Names are only compared: without them a filter is taken as it is.
  const tokens = read === undefined || read instanceof StoreError ? [] : read;
  return {
    tokens: tokens.flatMap(({ id, name }) => [name, id]),
    servers: [...Object.keys(config.mcpServers), ...disabled.keys()],
  };
}

async function noLog(
  shell: Invocation['shell'],
  { config, file }: LoadedConfig,
  folder: string,
): Promise<string> {
  if (config.audit === 'off') {
    return 'there is no audit log: calls are written down if "audit" in the config is "on" or "required"';
  }
  const status = await instanceStatus(shell, file);
  if (status?.audit?.mode === 'off') {
    return 'there is no audit log: "audit" was switched on in the config after the running instance was started; end that with: holdfast shutdown, then start it again';
  }
  return `the audit log ${folder} is empty: no call was made since it was switched on, or it was removed`;
}

async function verify(
  { shell, isJson }: Invocation,
  loaded: LoadedConfig,
  folder: string,
): Promise<number> {
  const [{ verifyAudit }, { nodeAuditDisk }, { storedKey }] = await Promise.all([
    import('../../audit/verify.ts'),
    import('../../audit/audit-disk.ts'),
    import('../../store/key-file.ts'),
  ]);
  const { tracks, faults } = await verifyAudit(
    nodeAuditDisk,
    folder,
    await keyOf(loaded, storedKey),
  );
  const { out } = shell;
  const isEmpty = tracks.every(({ lines }) => lines === 0) && faults.length === 0;
  // Where there should be a log, none is a finding: it may have been removed.
  const isFine = faults.length === 0 && (!isEmpty || loaded.config.audit === 'off');
  const isComplete = tracks.every((track) => track.isComplete);
  if (isJson) out.json({ ok: isFine && isComplete, complete: isComplete, tracks, faults });
  else if (isEmpty) remark(shell, await noLog(shell, loaded, folder));
  else printVerified(shell, tracks, faults.length === 0);
  if (!isJson) {
    for (const { file, line, text } of faults) {
      const place = line === null ? file : `${file}:${line}`;
      shell.err.line(`${shell.err.style('red', 'error')} ${printableLine(`${place}: ${text}`)}`);
    }
  }
  if (!isFine) return exitCodes.failed;
  return isComplete ? exitCodes.ok : exitCodes.unavailable;
}

async function keyOf(
  { config, file }: LoadedConfig,
  storedKey: (file: string) => Promise<Buffer | null>,
): Promise<Buffer | null> {
  const keyFile = keyFileOf(config.keyFile, file);
  try {
    return keyFile === null ? null : await storedKey(keyFile);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Fault('unavailable', `the audit log cannot be verified: ${why}`, {}, error);
  }
}

function printVerified(
  { out }: Invocation['shell'],
  tracks: readonly VerifiedTrack[],
  isWhole: boolean,
): void {
  if (!isWhole) return;
  const isComplete = tracks.every((track) => track.isComplete);
  const head = isComplete ? out.style('green', 'ok') : out.style('yellow', 'not complete:');
  out.line(`${head} ${verifiedText(tracks)}`);
  for (const note of tracks.flatMap(trackNotes)) out.line(out.style('dim', note));
}
