// What the pid-holder and its serving processes say to each other over the inherited channel: one object for each
// message, at most one handle beside it. Both sides check what they hear. The holder is older than a serving process
// that it starts after an update, so a change of meaning needs another version, which the holder then does not start.

import { ownValue } from '../../kernel/own-value.ts';

export const channelVersion = 1;
/** The descriptor of the link to the incumbent, in a successor. */
export const linkDescriptor = 4;

export type ServingRole = 'first' | 'successor';

export interface Introduction {
  /** The first serving process of a holder is 1, each later one has the next number. */
  readonly ordinal: number;
  /** Whose servers it has: a successor has those of its incumbent, any other begins anew. */
  readonly instance: string;
  readonly role: ServingRole;
}

export function introductionText({ ordinal, instance, role }: Introduction): string {
  return [channelVersion, ordinal, instance, role].join(':');
}

/** Undefined if it is another version, or none of ours. */
export function introductionIn(text: string): Introduction | undefined {
  const found = /^1:([1-9]\d{0,8}):([\w-]{4,64}):(first|successor)$/.exec(text);
  if (found === null) return undefined;
  const [, ordinal = '', instance = '', role] = found;
  return { ordinal: Number(ordinal), instance, role: role as ServingRole };
}

/** The names of the signals that end a process in good order; others reach the serving process as they are. */
export const forwardedSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
export type ForwardedSignal = (typeof forwardedSignals)[number];
export type EndingSignal = Exclude<ForwardedSignal, 'SIGHUP'>;

/** From a serving process to the holder; one with `ask` is answered. */
export type Asked =
  /** It hears messages from now on, signals among them. */
  | { readonly op: 'hello' }
  | ({ readonly op: 'spawn'; readonly ask: number } & SpawnRequest)
  /** A child that another serving process has given up: its pipes, and its exit. */
  | { readonly op: 'take'; readonly ask: number; readonly id: number }
  | { readonly op: 'give'; readonly id: number }
  /** It has ended, and nothing more is read from it. */
  | { readonly op: 'released'; readonly id: number }
  /** Answered when the reaper runs. */
  | { readonly op: 'reaper'; readonly ask: number }
  | { readonly op: 'reaper-tell'; readonly change: 'add' | 'remove'; readonly what: ReaperFact }
  /** The orderly end of the reaper: nothing is left to be ended. */
  | { readonly op: 'reaper-end'; readonly ask: number }
  /** With the handle of a listening socket, which the holder keeps for the next serving process. */
  | { readonly op: 'keep'; readonly name: string }
  | { readonly op: 'listener'; readonly ask: number; readonly name: string }
  | { readonly op: 'successor'; readonly ask: number }
  /** Answered when the successor has ended: true, or at once where it serves already: false. */
  | { readonly op: 'abandon'; readonly ask: number }
  /** It serves: from now on it is the serving process. */
  | { readonly op: 'serving' }
  /** Of a successor, which asks for it before it serves; refused if the rollout was given up. */
  | { readonly op: 'claim'; readonly ask: number }
  /** A test hook of this name has been used up: later processes do not have it. */
  | { readonly op: 'hook-used'; readonly name: string }
  /** It hears no messages any more. `isInOrder`: its exit is the end of all. */
  | { readonly op: 'exiting'; readonly isInOrder: boolean }
  /** With the handle of a connection, for the other serving process. */
  | { readonly op: 'pass'; readonly head: unknown };

export interface SpawnRequest {
  readonly line: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** A fourth pipe, on which a wrapper reports. */
  readonly hasReport: boolean;
}

export type ReaperFact =
  | { readonly pid: number; readonly start: string }
  | { readonly cgroup: string };

/** From the holder to a serving process. */
export type Told =
  /** With a handle: one of those that belong to the answer that follows. */
  | { readonly op: 'handle'; readonly ask: number }
  | { readonly op: 'answer'; readonly ask: number; readonly value: unknown }
  | { readonly op: 'refusal'; readonly ask: number; readonly code: string; readonly text: string }
  | ({ readonly op: 'exited'; readonly id: number } & HeldExit)
  | { readonly op: 'signal'; readonly name: ForwardedSignal }
  | { readonly op: 'hangup' }
  /** How many earlier processes still end their work. */
  | { readonly op: 'formers'; readonly count: number }
  | ({ readonly op: 'successor-ended' } & HeldExit)
  | { readonly op: 'passed'; readonly head: unknown }
  | { readonly op: 'notice'; readonly text: string };

export interface HeldExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

type Shape = Readonly<Record<string, (value: unknown) => boolean>>;

const isNumber = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
const isText = (value: unknown) => typeof value === 'string';
const isFlag = (value: unknown) => typeof value === 'boolean';
const isAnything = () => true;
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const isEnvironment = (value: unknown) => isObject(value) && Object.values(value).every(isText);
const isCode = (value: unknown) => value === null || isNumber(value);
const isSignal = (value: unknown) => value === null || isText(value);
const isFact = (value: unknown) =>
  isObject(value) &&
  ((isNumber(value['pid']) && isText(value['start'])) || isText(value['cgroup']));

const askedShapes: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ['hello', {}],
  ['spawn', { ask: isNumber, line: isTexts, env: isEnvironment, cwd: isText, hasReport: isFlag }],
  ['take', { ask: isNumber, id: isNumber }],
  ['give', { id: isNumber }],
  ['released', { id: isNumber }],
  ['reaper', { ask: isNumber }],
  ['reaper-tell', { change: (value) => value === 'add' || value === 'remove', what: isFact }],
  ['reaper-end', { ask: isNumber }],
  ['keep', { name: isText }],
  ['listener', { ask: isNumber, name: isText }],
  ['successor', { ask: isNumber }],
  ['abandon', { ask: isNumber }],
  ['claim', { ask: isNumber }],
  ['hook-used', { name: isText }],
  ['serving', {}],
  ['exiting', { isInOrder: isFlag }],
  ['pass', { head: isAnything }],
]);

const toldShapes: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ['handle', { ask: isNumber }],
  ['answer', { ask: isNumber, value: isAnything }],
  ['refusal', { ask: isNumber, code: isText, text: isText }],
  ['exited', { id: isNumber, code: isCode, signal: isSignal }],
  ['signal', { name: (value) => forwardedSignals.some((name) => name === value) }],
  ['hangup', {}],
  ['formers', { count: isNumber }],
  ['successor-ended', { code: isCode, signal: isSignal }],
  ['passed', { head: isAnything }],
  ['notice', { text: isText }],
]);

/** Undefined if it is no such message. */
export function askedIn(message: unknown): Asked | undefined {
  return hasShape(message, askedShapes) ? (message as unknown as Asked) : undefined;
}

export function toldIn(message: unknown): Told | undefined {
  return hasShape(message, toldShapes) ? (message as unknown as Told) : undefined;
}

function hasShape(message: unknown, shapes: ReadonlyMap<string, Shape>): boolean {
  if (!isObject(message) || typeof message['op'] !== 'string') return false;
  const shape = shapes.get(message['op']);
  return (
    shape !== undefined &&
    Object.entries(shape).every(([name, isIt]) => isIt(ownValue(message, name)))
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
