// The command line as a whole: its commands and options, and the messages for wrong usage. Each
// command is described and implemented in its own file; nothing here loads the host, so that help
// and usage errors are fast.

import { type Argument, Command, CommanderError } from 'commander';
import { nearestWord } from '../config/nearest-word.ts';
import { Fault } from '../kernel/fault.ts';
import { printableLine } from '../kernel/printable.ts';
import { addAudit } from './commands/audit.ts';
import { addBroker } from './commands/broker.ts';
import { addCall } from './commands/call.ts';
import { addCheck } from './commands/check.ts';
import { addConnect, addTrust } from './commands/connect.ts';
import { addDemo } from './commands/demo.ts';
import { addDoctor } from './commands/doctor.ts';
import { addLogs } from './commands/logs.ts';
import { addReload, addShutdown, addStart, addStop } from './commands/operate.ts';
import { addProxy } from './commands/proxy.ts';
import { addRole } from './commands/role.ts';
import { addRollout } from './commands/rollout.ts';
import { addSearch } from './commands/search.ts';
import { addServe } from './commands/serve.ts';
import { addStatus } from './commands/status.ts';
import { addTokenCommands } from './commands/token.ts';
import { addTools } from './commands/tools.ts';
import type { Perform } from './invocation.ts';
import type { Shell } from './shell.ts';

const help = `
Examples:
  holdfast tools                                     every tool of every server
  holdfast call files/read_text_file path=README.md  call one
  holdfast status                                    the state of every server

Exit codes: 0 ok · 1 the tool returned an error or a check found one · 2 usage, config, unknown name
3 unavailable, or no answer in time (see dispatched) · 4 denied or over budget · 5 outcome unknown
130 interrupted

Environment: HOLDFAST_CONFIG, HOLDFAST_STATE, HOLDFAST_LOG (error, warn, info, debug), NO_COLOR`;

export function createProgram(shell: Shell, version: string, perform: Perform): Command {
  const { out } = shell;
  const program = new Command('holdfast')
    .description(
      'Runs your MCP servers, restarts them when they crash, and never runs an unsafe call twice.',
    )
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [COMMAND]', 'print help for a command')
    .option('--config <FILE>', 'the config file; without it, a holdfast.json is searched for')
    .option('--json', 'print stable JSON')
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureOutput({
      writeOut: (text) => out.write(text),
      // Mistakes become one line of our own; see `usageFault`.
      writeErr: () => {},
      getOutHelpWidth: () => Math.min(out.columns, 100),
    })
    .configureHelp({
      showGlobalOptions: true,
      subcommandTerm: (command) =>
        [command.name(), ...command.registeredArguments.map(term)].join(' '),
      styleTitle: (text) => out.style('bold', text),
      styleCommandText: (text) => out.style('cyan', text),
      styleSubcommandText: (text) => out.style('cyan', text),
      styleOptionText: (text) => out.style('cyan', text),
    })
    .addHelpText('after', help);
  const commands = [
    ...[addServe, addConnect, addCall, addTools, addSearch, addStatus, addCheck],
    ...[addLogs, addReload, addStart, addStop, addRollout, addShutdown],
    ...[addBroker, addProxy, addRole, addTokenCommands, addAudit, addTrust, addDoctor, addDemo],
  ];
  for (const add of commands) add(program, perform);
  return program;
}

/** As in the usage line of its command. */
function term(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '…' : ''}`;
  return argument.required ? name : `[${name}]`;
}

/** Commander reports help and version as errors. */
export function isAnswered(error: unknown): boolean {
  return error instanceof CommanderError && error.exitCode === 0;
}

/** A mistake on the command line as a fault; anything else unchanged. */
export function usageFault(error: unknown, program: Command, argv: readonly string[]): unknown {
  if (!(error instanceof CommanderError)) return error;
  const command = program.commands.find((one) => argv.includes(one.name()));
  const verb = command?.name();
  const further = command?.commands.find((one) => argv.includes(one.name()))?.name();
  // Commander ends in this way without a command, and in `help` for a command that does not exist.
  if (error.code === 'commander.help') {
    if (argv.includes('help')) return unknownTopic();
    return verb === undefined ? nothingAsked() : incomplete(verb);
  }
  const words = error.message
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .replace(/\.$/, '');
  const where = ['holdfast', verb, further, '--help']
    .filter((word) => word !== undefined)
    .join(' ');
  return new Fault('invalid_request', `${words}; see: ${where}`, {}, error);
}

/** Of a command that has commands of its own. */
function incomplete(verb: string): Fault {
  return new Fault('invalid_request', `${verb} what? See: holdfast ${verb} --help`);
}

function unknownTopic(): Fault {
  return new Fault('invalid_request', 'unknown help topic; see: holdfast --help');
}

/** Commander prints the help of the whole program for a command that does not exist. */
export function assertKnownCommand(
  program: Command,
  [first = '', ...rest]: readonly string[],
): void {
  const asksForHelp = rest.includes('--help') || rest.includes('-h');
  const known = ['help', ...program.commands.map((command) => command.name())];
  if (!asksForHelp || first.startsWith('-') || known.includes(first)) return;
  const near = nearestWord(first, known);
  const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
  const told = `unknown command '${printableLine(first)}'${hint}; see: holdfast --help`;
  throw new Fault('invalid_request', told);
}

export function nothingAsked(): Fault {
  return new Fault(
    'invalid_request',
    'no command given; start with: holdfast status, or see: holdfast --help',
  );
}
