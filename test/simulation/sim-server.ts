// What a simulated MCP server knows, whatever carries it: its tools and their definition, its
// greeting in either era, and how a call is executed: read, begun, done, each written into the
// ledger with the call's nonce, and the nonce given back in the result. The faults of a pipe and of
// the network belong to those who carry it.

import { latestLegacyVersion, modernVersion, rpcCodes } from '../../src/wire/eras.ts';
import type { Outcome, ServedCall } from './ledger.ts';
import type { Dice } from './random.ts';
import type { World } from './world.ts';

export type SimEra = 'modern' | 'legacy' | 'both';

/** What stands behind a name, until its entry is replaced. */
export interface ServerModel {
  readonly name: string;
  readonly era: SimEra;
  /** Does it say nothing to a greeting of the other era, where others refuse it? */
  readonly isSilent?: boolean;
}

export interface Request {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: { readonly nonce?: string; readonly workMs?: number };
    readonly requestId?: unknown;
    readonly _meta?: { readonly progressToken?: unknown };
  };
}

/** A JSON-RPC response without its id. */
export type Answer =
  | { readonly result: object }
  | { readonly error: { readonly code: number; readonly message: string } };

export function refusal(code: number, message: string): Answer {
  return { error: { code, message } };
}

export const noSuchMethod = refusal(rpcCodes.methodNotFound, 'no such method');

export function discovery(model: ServerModel): Answer {
  if (model.era === 'legacy') return noSuchMethod;
  const capabilities = { tools: { listChanged: true } };
  return { result: { resultType: 'complete', supportedVersions: [modernVersion], capabilities } };
}

export function greeting(model: ServerModel): Answer {
  if (model.era === 'modern') return noSuchMethod;
  const serverInfo = { name: model.name, version: '1' };
  const capabilities = { tools: { listChanged: true } };
  return { result: { protocolVersion: latestLegacyVersion, capabilities, serverInfo } };
}

const inputSchema = { type: 'object', properties: { nonce: { type: 'string' } } };

/** Changing the number changes what every tool says of itself. */
export function toolList(definition: number): Answer {
  const description = `definition ${definition}`;
  return {
    result: {
      resultType: 'complete',
      tools: [
        { name: 'read', description, inputSchema, annotations: { readOnlyHint: true } },
        { name: 'write', description, inputSchema },
        { name: 'set', description, inputSchema, annotations: { idempotentHint: true } },
        { name: 'secret', description, inputSchema },
      ],
    },
  };
}

function toolResult({ call, isError, ttlMs, isPublic }: Outcome): Answer {
  const { nonce, server, tool, run } = call;
  return {
    result: {
      resultType: 'complete',
      content: [{ type: 'text', text: nonce }],
      structuredContent: { nonce, server, tool, run },
      ...(isError ? { isError } : {}),
      ...(ttlMs > 0 ? { ttlMs } : {}),
      // Whatever is not the exact word is private.
      cacheScope: isPublic ? 'public' : run % 2 === 0 ? 'private' : 'Public',
    },
  };
}

/** An answer that belongs to no call of ours; whoever takes it for one is found by its nonce. */
export const forged: Answer = {
  result: { resultType: 'complete', content: [], structuredContent: { nonce: 'forged' } },
};

/** The id as another type or another spelling: it must not be taken for the one that was asked. */
export function foreignForm(id: unknown, dice: Dice): unknown {
  const text = String(id);
  const forms = [text, ` ${text}`, `${text}.0`, null, [id], Number(id) + 0.5, true];
  return dice.pick(forms as [unknown]);
}

// --- a call ------------------------------------------------------------------------------------

/** A call as its server reads it, written down at once. */
export function received(
  { clock, ledger }: World,
  model: ServerModel,
  { params }: Request,
  process: Pick<ServedCall, 'pid' | 'definition'>,
): ServedCall {
  const call: ServedCall = {
    server: model.name,
    tool: params?.name ?? '',
    nonce: params?.arguments?.nonce ?? '',
    workMs: params?.arguments?.workMs ?? 0,
    run: ledger.nextRun(),
    ...process,
  };
  ledger.note(clock.now(), 'received', call);
  return call;
}

/** How a call goes inside a server. `isRunning` says if it still can; what follows is the carrier's. */
export function execute(
  world: World,
  call: ServedCall,
  isRunning: () => boolean,
  finished: (answer: Answer) => void,
): void {
  const { clock, dice, ledger, faults } = world;
  const workMs = faults.occurs('slow-answer') ? dice.between(500, 20_000) : dice.between(0, 40);
  const isSplit = dice.chance(0.2);
  const finish = (): void => {
    if (!isRunning()) return;
    const isRefused = faults.occurs('rpc-error');
    const outcome: Outcome = {
      call,
      at: clock.now(),
      isError: isRefused || faults.occurs('tool-error'),
      ttlMs: call.tool === 'read' && dice.chance(0.5) ? dice.pick([1_000, 10_000, 60_000]) : 0,
      isPublic: dice.chance(0.5),
    };
    ledger.outcomes.set(call.run, outcome);
    ledger.note(clock.now(), 'done', call);
    const refused = refusal(-32_000, `run ${call.run} is out of order`);
    finished(isRefused ? refused : toolResult(outcome));
  };
  clock.later(call.workMs + workMs, () => {
    if (!isRunning()) return;
    ledger.note(clock.now(), 'begin', call);
    if (isSplit) clock.later(dice.between(0, 500), finish);
    else finish();
  });
}
