// A modern client as servers may reach it: only inside one of its calls, and with a request only as
// `input_required` (see parking). Over HTTP all requests of one principal count as one client, though
// their roots may differ (see call-roots); a stdio connection is a client of its own.

import type { Caller, Client, ClientAnswer, Question } from '../../host/connections/caller.ts';
import type { ClientFolder } from '../../host/connections/client-folder.ts';
import { isHeard } from '../../host/connections/log-level.ts';
import { textOf } from '../../wire/decode.ts';
import { carriedFrame } from '../../wire/frames.ts';
import type { Message } from '../../wire/scan.ts';
import { Incoming } from '../incoming.ts';
import type { Parking } from '../relay/parking.ts';
import { asTheClientKnowsIt } from '../tasks/related-task.ts';
import { cannotBeAsked } from './asked-client.ts';
import { CallRootsQuestions } from './call-roots.ts';
import { ClientCapabilities } from './client-capabilities.ts';
import type { Hearing } from './hearing.ts';
import type { RootsRoom } from './roots-room.ts';

export interface ModernClientParts {
  readonly room: RootsRoom;
  readonly parking: Parking;
  readonly hearing: Pick<Hearing, 'may' | 'mayReceive'>;
}

export interface ModernClientFacts {
  /** Its end is not reported. */
  readonly endsIdle: boolean;
  /** Whose share of everything it uses; undefined: the local user's, who has no such limit. */
  readonly sharingOwner?: string | undefined;
  readonly folder?: ClientFolder | undefined;
}

/** What may stand in `inputRequests`. */
const embeddable: ReadonlySet<string> = new Set([
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
]);

export class ModernClient implements Client {
  readonly key: string;
  readonly isAskedInCalls = true;
  /** Its end is not reported: it counts as gone when it has been idle for long. */
  readonly endsIdle: boolean;
  readonly folder: ClientFolder | undefined;
  readonly sharingOwner: string | undefined;
  /** The number of its latest request, and how many are not answered. */
  lastRequest = 0;
  underWay = 0;
  isGone = false;
  readonly #parking: Parking;
  readonly #hearing: Pick<Hearing, 'may' | 'mayReceive'>;
  readonly #roots: CallRootsQuestions;

  constructor(
    key: string,
    { room, parking, hearing }: ModernClientParts,
    { endsIdle, sharingOwner, folder }: ModernClientFacts,
  ) {
    this.key = key;
    this.folder = folder;
    this.sharingOwner = sharingOwner;
    this.#roots = new CallRootsQuestions(room, (question) => this.ask(question));
    this.#parking = parking;
    this.#hearing = hearing;
    this.endsIdle = endsIdle;
  }

  hasRoots(caller: Caller | undefined): boolean {
    return caller instanceof Incoming && mayBeAsked(caller) && capabilitiesOf(caller).hasRoots;
  }

  async findRoots(caller: Caller, server: string): Promise<void> {
    if (caller instanceof Incoming) await this.#roots.find(caller, server);
  }

  ask(question: Question): Promise<ClientAnswer> {
    const { caller, message } = question;
    const { method = '', params, bytes } = message;
    const embedded = params && bytes.subarray(params.start, params.end);
    const isPossible =
      caller instanceof Incoming &&
      mayBeAsked(caller) &&
      embeddable.has(method) &&
      this.#mayHear(question.server, message, caller);
    if (!isPossible || !capabilitiesOf(caller).allows(method, embedded)) {
      return Promise.resolve(cannotBeAsked(method));
    }
    if (question.isMessage && !this.#mayReceive(message, caller)) {
      return Promise.resolve(cannotBeAsked(method));
    }
    return this.#parking.ask(caller, question);
  }

  #mayHear(server: string, message: Message, caller: Incoming): boolean {
    const { key } = this;
    return this.#hearing.may({ key, principal: caller.principal }, server, message, caller);
  }

  #mayReceive(message: Message, { principal }: Incoming): boolean {
    return this.#hearing.mayReceive(principal, this, message);
  }

  tell(server: string, message: Message, caller: Caller | undefined): void {
    if (!(caller instanceof Incoming) || !this.#mayHear(server, message, caller)) return;
    if (message.method === 'notifications/message' && !hears(caller, message)) return;
    if (!this.#mayReceive(message, caller)) return;
    // It follows no task of a legacy server: messages about one belong to its call.
    caller.send(carriedFrame(asTheClientKnowsIt(message, () => undefined)));
  }
}

/** Only these may be answered with `input_required` (2026-07-28). */
const askable: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

function mayBeAsked({ message }: Incoming): boolean {
  return askable.has(message.method ?? '');
}

function capabilitiesOf(caller: Incoming): ClientCapabilities {
  return new ClientCapabilities(JSON.parse(caller.capabilities));
}

/** Log lines come only to requests that ask for them. */
function hears({ logLevel }: Incoming, { bytes, paramsObject }: Message): boolean {
  const span = paramsObject?.find('level');
  return logLevel !== undefined && isHeard(span && textOf(bytes, span), logLevel);
}
