// The handler of each method. Lists are composed from the known lists of all servers; a request
// that names one thing (a tool, a prompt, a resource, a task) is forwarded to its owner; an unknown
// method is forwarded if there is only one server, and refused otherwise. Which methods a client
// may use depends on its era, because each era has some that the other does not have.

import { isLogLevel } from '../host/connections/log-level.ts';
import type { ListKind } from '../host/lists/listings.ts';
import { contain } from '../kernel/contain.ts';
import { Fault } from '../kernel/fault.ts';
import { ownValue } from '../kernel/own-value.ts';
import { textOf } from '../wire/decode.ts';
import { WireError } from '../wire/wire-error.ts';
import type { LegacySession } from './clients/legacy-session.ts';
import { complete } from './completion.ts';
import { assertOneReading } from './decided-members.ts';
import type { Gateway } from './gateway.ts';
import { discovery } from './greeting.ts';
import type { Incoming } from './incoming.ts';
import { drainingFault } from './outgoing/draining-faults.ts';
import {
  invalidParams,
  methodNotFound,
  refuseRequest,
  textParam,
  unknownName,
} from './refusals.ts';
import { listen, subscribe, unsubscribe } from './subscriptions/watching.ts';
import { listTasks, modernTaskRequest, sessionTaskRequest } from './tasks/task-requests.ts';
import { noteUnknown } from './unknown-request.ts';
import { callOwnTool } from './view/own-tools.ts';

type Handler = (
  gateway: Gateway,
  incoming: Incoming,
  session: LegacySession | undefined,
) => void | Promise<void>;

const listMethods: Readonly<Record<string, ListKind>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'skills/list': 'skills',
};

const bothEras: Readonly<Record<string, Handler>> = {
  'tools/call': (gateway, incoming) => callTool(gateway, incoming),
  'prompts/get': (gateway, incoming) => getPrompt(gateway, incoming),
  'resources/read': (gateway, incoming) => readResource(gateway, incoming, 'resources/read'),
  'resources/directory/read': (gateway, incoming) =>
    readResource(gateway, incoming, 'resources/directory/read'),
  'skills/get': (gateway, incoming) => readResource(gateway, incoming, 'skills/get'),
  'completion/complete': (gateway, incoming) => complete(gateway, incoming),
};

const legacyOnly: Readonly<Record<string, Handler>> = {
  'logging/setLevel': (_gateway, incoming, session) => setLevel(incoming, session),
  'resources/subscribe': (gateway, incoming, session) => subscribe(gateway, incoming, session),
  'resources/unsubscribe': (_gateway, incoming, session) => unsubscribe(incoming, session),
  'tasks/get': (gateway, incoming) => sessionTaskRequest(gateway, incoming),
  'tasks/result': (gateway, incoming) => sessionTaskRequest(gateway, incoming),
  'tasks/cancel': (gateway, incoming) => sessionTaskRequest(gateway, incoming),
  'tasks/list': (gateway, incoming) => listTasks(gateway, incoming),
};

const modernOnly: Readonly<Record<string, Handler>> = {
  'server/discover': async (gateway, incoming) => {
    await gateway.view.recalled();
    incoming.result(discovery(gateway.host, gateway.identity, incoming));
  },
  'subscriptions/listen': (gateway, incoming) => listen(gateway, incoming),
  'tasks/get': (gateway, incoming) => modernTaskRequest(gateway, incoming),
  'tasks/update': (gateway, incoming) => modernTaskRequest(gateway, incoming),
  'tasks/cancel': (gateway, incoming) => modernTaskRequest(gateway, incoming),
};

/**
 * Every method that is answered, in whichever era: each needs its row in policy/method-access.ts.
 * @internal for the test that compares the two
 */
export const answeredMethods: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  ...[listMethods, bothEras, legacyOnly, modernOnly].flatMap((table) => Object.keys(table)),
]);

/** Methods of the legacy era that do not exist for a modern client. */
const removed: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
  'tasks/result',
]);

export function answerRequest(
  gateway: Gateway,
  incoming: Incoming,
  session: LegacySession | undefined,
): void {
  const { method = '' } = incoming.message;
  incoming.isLate = !gateway.isAccepting;
  // Our own tools work until the end; calls of others are refused later.
  if (incoming.isLate && method !== 'tools/call') {
    return gateway.ownAnswers.count(incoming, {}, () => {
      throw drainingFault();
    });
  }
  const list = ownValue(listMethods, method);
  if (list) return attempt(() => answerList(gateway, incoming, list), gateway, incoming, session);
  const ofEra = incoming.isModern ? modernOnly : legacyOnly;
  const handler = ownValue(bothEras, method) ?? ownValue(ofEra, method);
  if (handler) return attempt(handler, gateway, incoming, session);
  const isOfOtherEra = incoming.isModern ? removed.has(method) : Object.hasOwn(modernOnly, method);
  if (isOfOtherEra) return incoming.error(methodNotFound(method));
  attempt(custom, gateway, incoming, session);
}

/** Every error becomes the answer: a request is always answered. */
function attempt(
  handler: Handler,
  gateway: Gateway,
  incoming: Incoming,
  session: LegacySession | undefined,
): void {
  const fail = (thrown: unknown) => {
    if (!(thrown instanceof Fault || thrown instanceof WireError)) gateway.caught(thrown);
    contain(
      () => refuseRequest(incoming, thrown),
      (error) => gateway.caught(error),
    );
  };
  try {
    if (handler !== custom) assertOneReading(incoming.message.bytes, incoming.message.paramsObject);
    const working = handler(gateway, incoming, session);
    if (working instanceof Promise) working.catch(fail);
  } catch (thrown) {
    fail(thrown);
  }
}

// --- lists ---------------------------------------------------------------------------------

function answerList(gateway: Gateway, incoming: Incoming, kind: ListKind): void {
  const { bytes, paramsObject } = incoming.message;
  const span = paramsObject?.find('cursor');
  const cursor = span && textOf(bytes, span);
  if (span && cursor === undefined) return incoming.error(invalidParams('cursor must be a string'));
  gateway.ownAnswers.count(incoming, {}, async () => {
    const result = await gateway.view.list(kind, incoming, cursor);
    assertGiven(gateway, incoming, kind);
    if (result === undefined) {
      incoming.error(invalidParams('this cursor was not issued for this list; begin without one'));
    } else incoming.result(result);
  });
}

/**
 * An empty list would say that there is nothing, and the last one of an orchestrator that was given up that it can be
 * used. Throws a Fault.
 */
function assertGiven(gateway: Gateway, incoming: Incoming, kind: ListKind): void {
  const { host, settings } = gateway;
  const server = settings.onlyServer === undefined ? undefined : host.get(settings.onlyServer);
  if (server === undefined) return;
  const { name, supervisor, offerings } = server;
  const catalogue = server.catalogueFor(incoming);
  const isConnected = supervisor.connection !== undefined;
  const isKnown = catalogue.definitions(kind) !== undefined;
  if (isKnown && (isConnected || !server.isCutOff)) return;
  if (isConnected && !offerings.mayHave(kind)) return;
  const late = new Fault('unavailable', `${name} has not answered yet; try again`, {
    server: name,
  });
  const failure = isConnected ? catalogue.lists.failure(kind) : supervisor.lastFault?.fault;
  const fault = failure?.with({ server: name }) ?? late;
  // Why there is no connection is reported where it was lost.
  if (isConnected) gateway.notGiven?.(fault);
  throw fault;
}

// --- what has an owner ---------------------------------------------------------------------

function callTool(gateway: Gateway, incoming: Incoming): void | Promise<void> {
  const name = textParam(incoming, 'name');
  if (name === undefined) return incoming.error(unknownName('tool', incoming));
  if (callOwnTool(gateway, incoming, name)) return;
  const route = gateway.view.of(incoming.principal).tools.route(name, incoming.principal);
  if (route) gateway.relay.carry(incoming, route);
  else if (incoming.isLate) gateway.ownAnswers.failToolCall(incoming, drainingFault());
  else return callUnlisted(gateway, incoming, name);
}

/** Perhaps its server has not been asked yet. */
async function callUnlisted(gateway: Gateway, incoming: Incoming, name: string): Promise<void> {
  const route = await gateway.view.of(incoming.principal).tools.find(name, incoming);
  if (route) return gateway.relay.carry(incoming, route);
  const fault = gateway.view.of(incoming.principal).tools.unread(name, incoming);
  if (fault) gateway.ownAnswers.failToolCall(incoming, fault);
  else {
    gateway.ownAnswers.count(incoming, {}, () => incoming.error(unknownName('tool', incoming)));
    noteUnknown(gateway, incoming, 'tool', name);
  }
}

async function getPrompt(gateway: Gateway, incoming: Incoming): Promise<void> {
  const name = textParam(incoming, 'name');
  const { prompts } = gateway.view.of(incoming.principal);
  const route = name === undefined ? undefined : await prompts.find(name, incoming);
  if (route) return gateway.relay.carry(incoming, route);
  const fault = name === undefined ? undefined : prompts.unread(name, incoming);
  gateway.ownAnswers.count(incoming, {}, () => {
    if (fault) throw fault;
    incoming.error(unknownName('prompt', incoming));
  });
  if (!fault) noteUnknown(gateway, incoming, 'prompt', name);
}

/** Skills and folders are named by their addresses, as resources are. */
async function readResource(
  gateway: Gateway,
  incoming: Incoming,
  method: 'resources/read' | 'resources/directory/read' | 'skills/get',
): Promise<void> {
  const uri = textParam(incoming, 'uri');
  if (uri === undefined) return incoming.error(invalidParams('uri must be a string'));
  const asked = { action: 'read', method } as const;
  const owner = await gateway.view.of(incoming.principal).resources.ownerOf(uri, incoming, asked);
  if (!owner) {
    const error = { ...invalidParams(`unknown resource ${uri}`), data: JSON.stringify({ uri }) };
    gateway.ownAnswers.count(incoming, {}, () => incoming.error(error));
    return noteUnknown(gateway, incoming, 'resource', uri);
  }
  gateway.relay.carry(incoming, {
    server: owner.server,
    kind: 'resource',
    name: owner.uri,
    ...(owner.uri === uri ? {} : { changes: { uri: JSON.stringify(owner.uri) } }),
  });
}

/** A method that MCP does not define: there must be only one server that it can be for. */
function custom(gateway: Gateway, incoming: Incoming): void {
  const { method = '' } = incoming.message;
  const server = gateway.view.onlyServer(incoming.principal);
  if (server === undefined || method.startsWith('notifications/')) {
    return gateway.ownAnswers.count(incoming, {}, () => incoming.error(methodNotFound(method)));
  }
  gateway.relay.carry(incoming, {
    server,
    kind: 'other',
    name: null,
  });
}

// --- what a session remembers --------------------------------------------------------------

function setLevel(incoming: Incoming, session: LegacySession | undefined): void {
  const level = textParam(incoming, 'level');
  if (level === undefined || !isLogLevel(level)) {
    return incoming.error(invalidParams('level must be one of the eight levels of RFC 5424'));
  }
  if (session) session.logLevel = level;
  incoming.result('{}');
}
