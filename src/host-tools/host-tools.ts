// Holdfast's own two tools, health_snapshot and telemetry_snapshot: their definitions and their
// answers. They answer from memory, synchronously, whatever else is broken: nothing is awaited, no
// server is contacted, and nothing is thrown. The gateway decides under which names they are
// listed.

import type { ShownStatus } from '../host/status.ts';
import type { Clock } from '../kernel/clock.ts';
import { faultFrom } from '../kernel/fault.ts';
import type { MayKnow, TimedFault, TrafficSnapshot } from '../observe/traffic.ts';
import { conciseHealth, healthLine, healthLines, healthSnapshot } from './health.ts';
import { quoted } from './line-words.ts';
import { argumentMembers, given, type Invalid, invalid } from './own-arguments.ts';
import {
  conciseTelemetry,
  fullTelemetryLines,
  telemetryLines,
  telemetrySnapshot,
} from './telemetry.ts';
import { errorResult, jsonResult, textResult } from './tool-result.ts';

export const hostToolNames = ['health_snapshot', 'telemetry_snapshot'] as const;

export type HostToolName = (typeof hostToolNames)[number];

export interface HostToolSources {
  /** With the servers that the caller may see, reduced to what it may see. */
  readonly status: () => ShownStatus;
  /** A fault as the caller may see it. */
  readonly disclosed: (record: TimedFault) => TimedFault;
  /** Of those calls that it may know of. */
  readonly traffic: TrafficSource;
  /**
   * Whether the caller may see its tools and their faults by name. Null asks for the server as a
   * whole.
   */
  readonly mayKnow: (server: string, tool: string | null) => boolean;
  /** Starts of servers beyond the first, since the instance was started. */
  readonly workerRestarts: number;
  readonly isAccepting: boolean;
  /** Of the instance: 1 at its first start, one more for each process that has taken over. */
  readonly generation: number;
  /** How often another version has taken over. */
  readonly hostRollouts: number;
  readonly clock: Clock;
}

/** Counters, as far as the caller may see them. */
export interface TrafficSource {
  snapshot(mayKnow: MayKnow): TrafficSnapshot;
  readonly lastFault: TimedFault | null;
}

export type HostToolOutcome =
  /** An MCP tool result as JSON text. */
  { readonly kind: 'result'; readonly result: string } | Invalid;

/** The arguments are the parsed value; absent ones are undefined. */
export function callHostTool(
  name: HostToolName,
  args: unknown,
  sources: HostToolSources,
): HostToolOutcome {
  try {
    const presentation = readPresentation(name, args);
    if (presentation.kind === 'invalid') return presentation;
    return { kind: 'result', result: answers[name](presentation, sources) };
  } catch (thrown) {
    // Even a state that cannot be read must not leave the caller without an answer.
    const { message } = faultFrom(thrown);
    return { kind: 'result', result: errorResult(`the state could not be read: ${message}`) };
  }
}

// --- presentation --------------------------------------------------------------------------

const renders = ['porcelain', 'json'] as const;
const details = ['concise', 'full'] as const;

interface Presentation {
  readonly kind: 'presentation';
  readonly render: (typeof renders)[number];
  readonly detail: (typeof details)[number];
}

function readPresentation(tool: HostToolName, args: unknown): Presentation | Invalid {
  const reading = argumentMembers(tool, args, ['render', 'detail']);
  if (reading.kind === 'invalid') return reading;
  const { render = 'porcelain', detail = 'concise' } = reading.members;
  if (!isOneOf(renders, render)) return notAmong(tool, 'render', render, renders);
  if (!isOneOf(details, detail)) return notAmong(tool, 'detail', detail, details);
  return { kind: 'presentation', render, detail };
}

function isOneOf<const T extends string>(words: readonly T[], value: unknown): value is T {
  return words.some((word) => word === value);
}

function notAmong(tool: string, name: string, value: unknown, allowed: readonly string[]): Invalid {
  return invalid(
    tool,
    `the argument ${quoted(name)} is ${given(value)}; allowed are ${allowed.map(quoted).join(' and ')}`,
  );
}

// --- answers -------------------------------------------------------------------------------

/** The last fault of the traffic, if the caller may see it. */
function toldFault({ traffic, disclosed, mayKnow }: HostToolSources): TimedFault | null {
  const { lastFault } = traffic;
  if (lastFault === null) return null;
  const { server, tool } = lastFault;
  return server === '' || mayKnow(server, tool ?? null) ? disclosed(lastFault) : null;
}

type Answer = (presentation: Presentation, sources: HostToolSources) => string;

const answers: Readonly<Record<HostToolName, Answer>> = {
  health_snapshot: ({ render, detail }, sources) => {
    const wallNow = sources.clock.wallNow();
    const full = healthSnapshot(sources.status(), sources, toldFault(sources));
    if (render === 'json') return jsonResult(detail === 'full' ? full : conciseHealth(full));
    if (detail === 'full') return textResult(healthLines(full, wallNow).join('\n'));
    return textResult(healthLine(full, wallNow));
  },

  telemetry_snapshot: ({ render, detail }, sources) => {
    const { hostRollouts, clock, workerRestarts, mayKnow } = sources;
    const traffic = { ...sources.traffic.snapshot(mayKnow), lastFault: toldFault(sources) };
    const starts = { workerRestarts, hostRollouts };
    const full = telemetrySnapshot(traffic, sources.status(), starts);
    if (render === 'json') return jsonResult(detail === 'full' ? full : conciseTelemetry(full));
    const lines =
      detail === 'full'
        ? fullTelemetryLines(full, clock.wallNow())
        : telemetryLines(conciseTelemetry(full));
    return textResult(lines.join('\n'));
  },
};

// --- definitions ---------------------------------------------------------------------------

interface Wording {
  readonly title: string;
  readonly description: string;
  readonly full: string;
}

const wordings: Readonly<Record<HostToolName, Wording>> = {
  health_snapshot: {
    title: 'Gateway health',
    description:
      'The state of this MCP gateway (Holdfast) and of the servers behind it. Use it when a tool is missing or a call ' +
      'failed. It contacts no server, so it works even when all of them are down. Servers are ready, starting, idle ' +
      '(started by the next call), degraded (failing, calls refused for a moment), cooling (waiting to restart), ' +
      'ejected (failed too often; its operator must restart the gateway) or disabled (see the config).',
    full: 'every server with the cause of its state',
  },
  telemetry_snapshot: {
    title: 'Gateway telemetry',
    description:
      'The traffic of this MCP gateway (Holdfast) since it started: requests, errors, faults, retries, restarts of ' +
      'servers, and the busiest methods and tools with their latencies.',
    full: 'every method and tool, and the last fault',
  },
};

/** As JSON text, under the name it is listed by. */
export function hostToolDefinition(name: HostToolName, listedAs: string = name): string {
  const { title, description, full } = wordings[name];
  const choice = (words: readonly string[], says: string) => {
    return { type: 'string', enum: words, default: words[0], description: says };
  };
  return JSON.stringify({
    name: listedAs,
    title,
    description,
    inputSchema: {
      type: 'object',
      properties: {
        render: choice(renders, 'porcelain: short lines of text; json: structured content'),
        detail: choice(details, `concise: an overview; full: ${full}`),
      },
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  });
}
