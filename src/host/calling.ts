// How a program calls tools: arguments and results as values or as JSON text, and servers that no config
// names. Everything goes through the one pipeline (call/call.ts).

import { durationFrom } from '../kernel/duration.ts';
import { Fault, faultFrom } from '../kernel/fault.ts';
import { disclosedFault } from '../policy/disclosure.ts';
import { givenPrincipal } from '../policy/given-principal.ts';
import { localUser } from '../policy/principal.ts';
import { resultBytes } from './call/answer.ts';
import { argumentsFromText, argumentsFromValue } from './call/arguments.ts';
import { carryCall } from './call/call.ts';
import type { CallParts } from './call/call-parts.ts';
import { toolCall } from './call/operation.ts';
import type { CallResult } from './call-result.ts';
import type { CallOptions } from './host.ts';
import type { UndeclaredServers } from './servers/undeclared-servers.ts';

type Arguments = Readonly<Record<string, unknown>> | undefined;

export class Calling {
  readonly #parts: CallParts;
  readonly #undeclared: UndeclaredServers;

  constructor(parts: CallParts, undeclared: UndeclaredServers) {
    this.#parts = parts;
    this.#undeclared = undeclared;
  }

  async call(
    server: string,
    tool: string,
    args: Arguments,
    options: CallOptions,
  ): Promise<CallResult> {
    return parsed(await this.#call(server, tool, argumentsFromValue(args), options));
  }

  async callRaw(
    server: string,
    tool: string,
    args: string | Uint8Array,
    options: CallOptions,
  ): Promise<Buffer> {
    return this.#call(server, tool, argumentsFromText(args), options);
  }

  async callCommand(
    command: readonly string[],
    tool: string,
    args: Arguments,
    options: CallOptions,
  ): Promise<CallResult> {
    if (!command[0]) {
      throw new Fault(
        'invalid_request',
        'the command is empty; give it as a list: [program, ...args]',
      );
    }
    const principal = givenPrincipal(options.principal);
    if (principal !== localUser) {
      throw new Fault('denied', 'a command is run for the local user only; declare a server');
    }
    const text = argumentsFromValue(args);
    const call = (name: string) => this.#call(name, tool, text, options);
    return parsed(await this.#undeclared.use(command, call));
  }

  #call(
    server: string,
    tool: string,
    args: string | Buffer,
    options: CallOptions,
  ): Promise<Buffer> {
    const { onProgress, signal, timeoutMs, idempotencyKey } = options;
    const principal = givenPrincipal(options.principal);
    return carryCall(this.#parts, {
      principal,
      server,
      operation: toolCall(tool, args),
      signal,
      timeoutMs: timeoutMs === undefined ? undefined : durationFrom(timeoutMs, 'timeoutMs'),
      idempotencyKey,
      onProgress: onProgress && ((params) => onProgress(JSON.parse(params.toString('utf8')))),
    }).then(resultBytes, (thrown) => {
      throw disclosedFault(faultFrom(thrown), principal);
    });
  }
}

function parsed(bytes: Buffer): CallResult {
  return JSON.parse(bytes.toString('utf8')) as CallResult;
}
