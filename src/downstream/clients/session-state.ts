// A legacy session as one process hands it over to the next one in a rollout: what was negotiated, what it watches,
// and where the ids of requests to its client go on. Its client notices nothing. What comes from another process is
// checked before it is used.

import { isRecord } from '../../kernel/json-values.ts';
import { legacyVersions } from '../../wire/eras.ts';

/** A resource that its client watches. */
export interface WatchedAddress {
  /** As the client knows it. */
  readonly as: string;
  readonly server: string;
  /** As the server knows it. */
  readonly uri: string;
}

export interface SessionState {
  /** Undefined before `initialize`. */
  readonly protocolVersion?: string;
  /** In modern form: JSON. */
  readonly capabilities: string;
  readonly logLevel?: string;
  readonly watched: readonly WatchedAddress[];
  /** The id of the next request to the client. */
  readonly nextQuestion: number;
}

/** The process that has handed it over asks on, for the calls that it ends: so many ids are its own. */
const idsOfFormer = 1_000_000;

/** The id of the first request to the client in the next process. */
export function firstQuestionAfter({ nextQuestion }: SessionState): number {
  return nextQuestion + idsOfFormer;
}

/** Undefined if it is none. */
export function sessionStateIn(value: unknown): SessionState | undefined {
  if (!isRecord(value)) return undefined;
  const { protocolVersion, capabilities, logLevel, watched, nextQuestion } = value;
  const isKnown = (legacyVersions as readonly unknown[]).includes(protocolVersion);
  const isWhole =
    (protocolVersion === undefined || isKnown) &&
    typeof capabilities === 'string' &&
    isObjectText(capabilities) &&
    (logLevel === undefined || typeof logLevel === 'string') &&
    Array.isArray(watched) &&
    watched.every(isWatchedAddress) &&
    Number.isSafeInteger(nextQuestion);
  return isWhole ? (value as unknown as SessionState) : undefined;
}

export function isWatchedAddress(value: unknown): value is WatchedAddress {
  if (!isRecord(value)) return false;
  const { as, server, uri } = value;
  return [as, server, uri].every((text) => typeof text === 'string');
}

function isObjectText(text: string): boolean {
  try {
    return isRecord(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
