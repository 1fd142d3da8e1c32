// holdfast call: calls one tool once. Only the text of the result goes to standard output, so that
// it can be piped; with --json it is the server's result, byte for byte. While the command waits, a
// terminal shows what it waits for.

import { type Command, InvalidArgumentError } from 'commander';
import type { Progress } from '../../host/call-result.ts';
import type { CallOptions } from '../../host/host.ts';
import { longestTimerMs } from '../../kernel/duration.ts';
import { Fault } from '../../kernel/fault.ts';
import { printableJson } from '../../kernel/printable.ts';
import type { HostEvent } from '../../observe/events.ts';
import { oneLine } from '../../wire/splice.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { LiveLine } from '../render/live-line.ts';
import { durationText } from '../render/quantity.ts';
import { usableServers } from '../running-servers.ts';
import { complain, type Shell } from '../shell.ts';
import { type Target, withTarget } from '../target.ts';
import { namesNoTool, partialAddress, type ToolAddress } from '../tool-address.ts';
import { type ArgumentSource, argumentSource } from '../tool-arguments.ts';

const help = `
The arguments are one JSON object, sent byte for byte; or key=value pairs, where a value
that is JSON counts as JSON (limit=5, all=true, tags='["a"]') and anything else as a string;
or - to read a JSON object from standard input. Nested keys need the JSON form.

Text is printed unchanged, other content as one line each; --json prints the server's whole
result unchanged, or {"fault": …} if there is no result.

Examples:
  holdfast call files/read_text_file path=README.md
  holdfast call git/log '{"max": 3}' --json
  jq '{path: .file}' job.json | holdfast call files/read_text_file -`;

export function addCall(program: Command, perform: Perform): void {
  program
    .command('call')
    .summary('call a tool')
    .description('Call a tool of a server and print the result.')
    .argument('<SERVER/TOOL>', 'the tool')
    .argument('[ARGUMENTS...]', "JSON, key=value pairs, or '-'")
    .option(
      '--timeout <MS>',
      'how long the answer may take; progress extends it, up to maxCallMs of the config',
      milliseconds,
    )
    .addHelpText('after', help)
    .action((address: string, words: string[], options: { timeout?: number }, command: Command) =>
      perform(command, (invocation) => call(invocation, address, words, options.timeout)),
    );
}

function milliseconds(text: string): number {
  const ms = Number(text);
  if (/^\d+$/.test(text) && ms >= 1 && ms <= longestTimerMs) return ms;
  throw new InvalidArgumentError('Expected a whole number of milliseconds, such as 30000');
}

async function call(
  invocation: Invocation,
  addressText: string,
  words: readonly string[],
  timeoutMs: number | undefined,
): Promise<number> {
  const { shell, isJson } = invocation;
  const named = partialAddress(addressText);
  if (named.tool === undefined) return await withTarget(invocation, {}, refuse(named.server));
  const address = { server: named.server, tool: named.tool };
  const args = await argumentsFrom(shell, argumentSource(words), address);
  using live = new LiveLine(shell.err, shell.clock);
  const onEvent = (event: HostEvent) => live.show(waitText(event, address));
  return await withTarget(invocation, { onEvent }, async (target) => {
    if (target.instance) live.show(`waiting for ${address.server}/${address.tool}`);
    const calling = target.operations.call(address.server, address.tool, {
      args,
      signal: shell.interrupt.signal,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...progressOptions(shell, live, address),
    });
    const result = await calling
      .catch((error: unknown) => explain(target, address, error))
      .finally(() => live.clear());
    // Printed before the servers are stopped, because some take long to end.
    return isJson ? printRaw(shell, result) : await printShown(shell, result, address);
  });
}

/** Of a tool that is missing, lists that a gateway has stored may say why. */
async function explain(
  { operations }: Target,
  { server, tool }: ToolAddress,
  error: unknown,
): Promise<never> {
  if (!(error instanceof Fault) || error.code !== 'not_found') throw error;
  const isServer = (await usableServers(operations)).includes(server);
  throw isServer ? await operations.unknownTool(server, tool) : error;
}

/** For a word without a tool: reports which tool was probably meant. */
function refuse(word: string): (target: Target) => Promise<never> {
  return async (target) => {
    const { refuseExposedName } = await import('../exposed-name.ts');
    await refuseExposedName(target, 'call', word);
    // Throws if there is no such server, with the names of those that exist.
    await target.operations.requireServer(word);
    throw namesNoTool(word, word);
  };
}

/** Checked here, so that mistakes are reported before anything is started. */
async function argumentsFrom(
  shell: Shell,
  source: ArgumentSource,
  { server, tool }: ToolAddress,
): Promise<Uint8Array> {
  const { argumentsFromText } = await import('../../host/call/arguments.ts');
  try {
    return argumentsFromText(source.kind === 'text' ? source.text : await pipedText(shell));
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'invalid_request') throw error;
    const detail = `${error.message}; see its arguments with: holdfast tools ${server}/${tool}`;
    throw new Fault(error.code, detail, { server, tool });
  }
}

async function pipedText(shell: Shell): Promise<Buffer> {
  const piped = await everythingFrom(shell);
  if (piped.toString('latin1').trim() !== '') return piped;
  throw new Fault(
    'invalid_request',
    'nothing came on standard input; write one JSON object to it, {} for no arguments',
  );
}

async function everythingFrom({ stdin, interrupt }: Shell): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const reading = (async () => {
    for await (const chunk of stdin) chunks.push(chunk);
  })();
  await Promise.race([reading, interrupt.arrived]);
  if (interrupt.signal.aborted) throw new Fault('cancelled', 'interrupted');
  return Buffer.concat(chunks);
}

/** Progress is requested in any case, for the deadline; here it is received only if it is shown. */
function progressOptions(
  { err }: Shell,
  live: LiveLine,
  { server, tool }: ToolAddress,
): Pick<CallOptions, 'onProgress'> {
  if (!err.isTerminal) return {};
  return { onProgress: (progress) => live.show(`${server}/${tool}: ${progressText(progress)}`) };
}

function progressText({ progress, total, message }: Progress): string {
  const share = typeof total === 'number' && total > 0 ? ` of ${total}` : '';
  return `${progress}${share}${typeof message === 'string' ? ` · ${message}` : ''}`;
}

function waitText(event: HostEvent, { server, tool }: ToolAddress): string {
  if (event.kind === 'starting') return `starting ${server}`;
  if (event.kind === 'cooling') {
    return `${server} did not start; trying again in ${durationText(event.delayMs)}`;
  }
  return event.kind === 'stopping' ? `stopping ${server}` : `waiting for ${server}/${tool}`;
}

function printRaw({ out }: Shell, result: Buffer): number {
  const text = result.toString('utf8');
  // Only output that is not a terminal needs to be byte for byte.
  out.write(out.isTerminal ? printableJson(oneLine(result).toString('utf8')) : result);
  out.write('\n');
  const { isError } = JSON.parse(text) as { isError?: unknown };
  return isError === true ? exitCodes.failed : exitCodes.ok;
}

async function printShown(
  shell: Shell,
  result: Buffer,
  { server, tool }: ToolAddress,
): Promise<number> {
  const { shownResult } = await import('../render/content.ts');
  const { text, isError, resultType } = shownResult(result, shell.out.isTerminal);
  shell.out.write(text);
  if (resultType !== undefined && resultType !== 'complete') {
    complain(
      shell,
      `${server}/${tool} answered with "${resultType}", which the command line does not support; print it with --json`,
    );
    return exitCodes.failed;
  }
  if (!isError) return exitCodes.ok;
  complain(
    shell,
    `${server}/${tool} returned an error (isError) · next: holdfast tools ${server}/${tool}`,
  );
  return exitCodes.failed;
}
