// How a connection to the control socket begins: one line each way. Only the first line is read here; the
// bytes after it belong to whatever the connection is for.

import type { Socket } from 'node:net';
import type { Clock } from '../kernel/clock.ts';
import {
  type ControlGreeting,
  greetingSchema,
  protocolVersion,
  type Welcome,
  welcomeSchema,
} from './protocol.ts';

const maxBytes = 65_536;

/** The first line as JSON; undefined if it does not come, in time, or is none. */
export function firstLine(socket: Socket, clock: Clock, withinMs: number): Promise<unknown> {
  return new Promise((resolve) => {
    let read = Buffer.alloc(0);
    const end = (message: unknown) => {
      timer[Symbol.dispose]();
      socket.off('data', take).off('end', give).off('error', give).off('close', give);
      socket.pause();
      resolve(message);
    };
    const give = () => end(undefined);
    const take = (chunk: Buffer) => {
      read = Buffer.concat([read, chunk]);
      const at = read.indexOf(0x0a);
      if (at < 0) return read.length > maxBytes ? give() : undefined;
      const rest = read.subarray(at + 1);
      end(parsed(read.subarray(0, at)));
      if (rest.length > 0) socket.unshift(rest);
    };
    const timer = clock.after(withinMs, give);
    socket.on('data', take).on('end', give).on('error', give).on('close', give);
  });
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** What a client tells of itself. */
export type ClientFacts = Pick<ControlGreeting, 'folder' | 'pid' | 'environment'>;

export function greetingOf(
  program: string,
  as: ControlGreeting['as'],
  facts: ClientFacts = {},
): ControlGreeting {
  return { hello: 'holdfast', versions: [protocolVersion], program, as, ...facts };
}

/** What the client says of itself; nothing if this is no greeting. */
export function factsIn(said: unknown): ClientFacts {
  return greetingSchema.safeParse(said).data ?? {};
}

export interface InstanceIdentity {
  readonly pid: number;
  readonly program: string;
  readonly instance: string;
  /** Idempotency keys survive its end. */
  readonly keepsKeys: boolean;
  readonly startedBy: string;
}

/** What the instance answers to the first line of a connection. */
export function welcomeFor(
  said: unknown,
  identity: InstanceIdentity,
  refusal: 'draining' | 'busy' | undefined,
  differs: readonly string[] = [],
): { readonly welcome: Welcome; readonly greeting?: ControlGreeting } {
  const { program, instance, keepsKeys, startedBy, pid } = identity;
  const greeting = greetingSchema.safeParse(said).data;
  if (greeting !== undefined && refusal !== undefined) {
    const detail = refusalDetails[refusal];
    return { welcome: { refused: refusal, program, detail } };
  }
  if (greeting === undefined) {
    const detail = 'the first line is not a greeting of Holdfast';
    return { welcome: { refused: 'greeting', program, detail } };
  }
  if (!greeting.versions.includes(protocolVersion)) {
    const detail = `this instance runs Holdfast ${program}, and the command is Holdfast ${greeting.program}: they do not understand each other; start the instance again with the version that is installed now`;
    return { welcome: { refused: 'version', program, detail } };
  }
  const welcome = { welcome: 'holdfast', version: protocolVersion, program, instance } as const;
  const more = differs.length === 0 ? {} : { differs: [...differs] };
  return { welcome: { ...welcome, pid, keepsKeys, startedBy, ...more }, greeting };
}

const refusalDetails = {
  draining: 'the instance is shutting down; try again in a moment',
  busy: 'the instance has too many connections; try again later',
} as const;

/** What the instance has answered; undefined if that is not an answer of Holdfast. */
export function welcomeIn(said: unknown): Welcome | undefined {
  return welcomeSchema.safeParse(said).data;
}
