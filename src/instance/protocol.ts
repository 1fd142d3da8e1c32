// The control protocol: what a command or `connect` and the instance of its config send each other over
// the control socket. Each message is one line of JSON. A connection begins with a greeting in which both
// sides name the versions they know; an operator's connection then carries requests and their answers, a
// client's connection carries MCP from there on. This file is the only definition of it.

import * as z from 'zod';
import { maxNameLength, maxVariables } from './environment-match.ts';

/** Raised when an older program would misunderstand a message; what is added only is no reason. */
export const protocolVersion = 1;

const environmentSchema = z.object({
  key: z.string().length(64),
  variables: z
    .array(z.object({ name: z.string().max(maxNameLength), hash: z.string().max(64) }))
    .max(maxVariables),
});

export const greetingSchema = z.object({
  hello: z.literal('holdfast'),
  /** All that the program knows. */
  versions: z.array(z.number().int()).max(100),
  /** The program's own version, for messages. */
  program: z.string().max(100),
  as: z.enum(['operator', 'client']),
  /** Of a client: the folder in which it was started. */
  folder: z.string().max(4_096).optional(),
  /** Of a client: its process. */
  pid: z.number().int().positive().optional(),
  /** Of a client: its variables that matter to servers, each as a keyed hash. */
  environment: environmentSchema.optional(),
});

export type ControlGreeting = z.infer<typeof greetingSchema>;

export const welcomeSchema = z.union([
  z.object({
    welcome: z.literal('holdfast'),
    version: z.number().int(),
    program: z.string(),
    instance: z.string(),
    pid: z.number().int(),
    /** Idempotency keys survive its end, so that a call with one may be sent to the next instance. */
    keepsKeys: z.boolean(),
    /** `serve` or `connect`. */
    startedBy: z.string(),
    /** Of a client's variables: those of which the instance has another value. */
    differs: z.array(z.string()).optional(),
  }),
  z.object({
    refused: z.enum(['version', 'busy', 'greeting', 'draining']),
    program: z.string(),
    detail: z.string(),
  }),
]);

export type Welcome = z.infer<typeof welcomeSchema>;

const server = z.string().max(1_000);
const tool = z.string().max(10_000);
const kept = z.boolean().optional();

/** What an operator can ask for. */
export const askSchema = z.discriminatedUnion('ask', [
  z.object({ ask: z.literal('status') }),
  z.object({ ask: z.literal('requireServer'), server }),
  z.object({ ask: z.literal('unknownTool'), server, tool }),
  z.object({ ask: z.literal('capabilitiesBehind'), server, tool }),
  z.object({ ask: z.literal('tools'), server, kept }),
  z.object({ ask: z.literal('discover'), kept }),
  z.object({ ask: z.literal('search'), words: z.string().max(10_000), limit: z.number(), kept }),
  z.object({
    ask: z.literal('call'),
    server,
    tool,
    /** JSON text, in base64: its bytes are what is sent. */
    args: z.string(),
    timeoutMs: z.number().optional(),
    progress: z.boolean().optional(),
  }),
  z.object({ ask: z.literal('knownTools'), server }),
  z.object({ ask: z.literal('start'), server }),
  z.object({ ask: z.literal('stop'), server }),
  z.object({ ask: z.literal('output'), server, place: z.number().int() }),
  z.object({ ask: z.literal('reload'), server: server.optional(), dryRun: z.boolean().optional() }),
  z.object({ ask: z.literal('rollout') }),
  z.object({ ask: z.literal('shutdown') }),
]);

export type Ask = z.infer<typeof askSchema>;

/** A request of the operator, or its withdrawal. */
export const requestSchema = z.union([
  z.object({ id: z.number().int(), request: askSchema }),
  z.object({ id: z.number().int(), withdraw: z.literal(true) }),
]);

/** What belongs to a request: anything before its answer, then the answer, or why there is none. */
export const replySchema = z.union([
  z.object({ id: z.number().int(), item: z.unknown() }).required({ item: true }),
  z.object({
    id: z.number().int(),
    fault: z.looseObject({ code: z.string(), detail: z.string() }),
  }),
  z.object({ id: z.number().int(), answer: z.unknown() }),
]);

/** The last line to an operator: another process answers now, and nothing of what has no answer was begun. */
export const moved = { moved: true } as const;

export function isMoved(message: unknown): boolean {
  return z.object({ moved: z.literal(true) }).safeParse(message).success;
}
