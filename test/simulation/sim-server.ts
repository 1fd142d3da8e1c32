// What a simulated MCP server knows, whatever carries it: its tools and their definition, its
// greeting in either era, and how a call is executed: read, begun, done, each written into the
// ledger with the call's nonce, and the nonce given back in the result. The faults of a pipe and of
// the network belong to those who carry it.

import { latestLegacyVersion, modernVersion, rpcCodes } from '../../src/wire/eras.ts';
import type { ServedCall } from './ledger.ts';
import type { World } from './world.ts';

export type SimEra = 'modern' | 'legacy' | 'both';

/** What stands behind a name, until its entry is replaced. */
export interface ServerModel {
  readonly name: string;
  readonly era: SimEra;
}

export interface Request {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: { readonly nonce?: string };
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
      ],
    },
  };
}

export function toolResult(nonce: string, isError: boolean, ttlMs: number): Answer {
  const content = [{ type: 'text', text: nonce }];
  return {
    result: {
      resultType: 'complete',
      content,
      structuredContent: { nonce },
      ...(isError ? { isError } : {}),
      ...(ttlMs > 0 ? { ttlMs, cacheScope: 'public' } : {}),
    },
  };
}

/** An answer that belongs to no call of ours; whoever takes it for one is found by its nonce. */
export const forged: Answer = toolResult('forged', false, 0);

/** How a call goes inside a server. `isRunning` says if it still can; what follows is the carrier's. */
export function execute(
  world: World,
  call: ServedCall,
  isRunning: () => boolean,
  finished: (answer: Answer) => void,
): void {
  const { clock, dice, ledger, weather } = world;
  const workMs = weather.strikes('slow-answer') ? dice.between(500, 20_000) : dice.between(0, 40);
  const isSplit = dice.chance(0.2);
  const finish = (): void => {
    if (!isRunning()) return;
    ledger.note(clock.now(), 'done', call);
    if (weather.strikes('rpc-error')) return finished(refusal(-32_000, 'the tool is out of order'));
    const ttlMs = call.tool === 'read' && dice.chance(0.3) ? 5_000 : 0;
    finished(toolResult(call.nonce, weather.strikes('tool-error'), ttlMs));
  };
  clock.later(workMs, () => {
    if (!isRunning()) return;
    ledger.note(clock.now(), 'begin', call);
    if (isSplit) clock.later(dice.between(0, 500), finish);
    else finish();
  });
}
