// One server as it passes from one serving process to the next: its connections are given away, the rest of it is
// written down, and the next process goes on with it as if it had always had it. What belongs to another spec
// than the next process has is not used there, except for the generation, which never goes back.

import { contain, ignored } from '../../kernel/contain.ts';
import type { Noise } from '../../observe/events.ts';
import type { ConnectionSlot } from '../connections/connection-slot.ts';
import type { ConnectionMaker } from '../servers/connection-maker.ts';
import type { KnownSecrets } from '../servers/known-secrets.ts';
import type { Server } from '../servers/server.ts';
import type { Standings } from '../servers/standings.ts';
import type { WrittenTask } from '../tasks/begun-task.ts';
import type { HandOverTo, RestoredConnection } from './handed-host.ts';
import type { ServerState, SlotState } from './host-state.ts';
import type { RestoredClients } from './restored-clients.ts';
import { aimFrom, restoreLists, writtenAim, writtenLists } from './written-lists.ts';

/** What only the server itself has. */
export interface ServerInside {
  readonly spec: string;
  readonly standings: Standings;
  readonly maker: ConnectionMaker;
  readonly secrets: KnownSecrets;
  readonly noise: Map<Noise, number>;
  readonly setStderr: (lines: readonly string[]) => void;
  readonly clients: RestoredClients;
  readonly now: () => number;
}

/** What was given away of a slot. */
export interface GivenSlot {
  readonly id: number;
  /** The addresses that its legacy server was asked to report on. */
  readonly told: readonly string[];
}

export type GivenSlots = ReadonlyMap<ConnectionSlot, GivenSlot>;

/** Gives its connections away; one that cannot be moved stays, and so does one that is being opened. */
export async function giveSlots(
  server: Server,
  to: HandOverTo,
  nextId: () => number,
  caught: (error: unknown) => void,
): Promise<GivenSlots> {
  const given = new Map<ConnectionSlot, GivenSlot>();
  const give = async (slot: ConnectionSlot) => {
    if (slot.supervisor.connection?.handOver === undefined) return;
    const told = slot.subscriptions.give();
    const handing = await slot.supervisor.give(
      (connection) => connection.handOver?.() ?? Promise.resolve(undefined),
    );
    if (handing === undefined) return;
    const { handed, rest } = handing;
    const id = nextId();
    given.set(slot, { id, told });
    contain(() => rest.attach(to.connection({ id, server: server.name, handed, rest })), caught);
  };
  await Promise.all([...server.slots.all()].map((slot) => give(slot).catch(caught)));
  return given;
}

export function writtenServer(
  server: Server,
  inside: ServerInside,
  given: GivenSlots,
): ServerState {
  const { name, config, slots, facts, history, offerings } = server;
  const all = [...slots.all()];
  const now = inside.now();
  const { startMs = null, listedAt = null, late, listed } = history.written;
  return {
    name,
    spec: inside.spec,
    lazy: config.lazy,
    isolation: slots.mode,
    asks: slots.asks,
    current: Math.max(0, all.indexOf(slots.current)),
    slots: all.map((slot) => writtenSlot(slot, slots.isShared(slot), given.get(slot))),
    standings: inside.standings.written as ServerState['standings'],
    facts: facts.written,
    starts: { startMs, listedAt, late: [...late], listed: [...listed] },
    catalogues: writtenLists(offerings, now),
    noise: [...inside.noise],
    stderr: [...server.stderr],
    secrets: [...inside.secrets.all],
  };
}

function writtenSlot(
  slot: ConnectionSlot,
  isShared: boolean,
  given: GivenSlot | undefined,
): SlotState {
  const { owner, sharingOwner, aim, clientEra, isDuplicate, isSpent, roots } = slot;
  const { formerOwner, supervisor } = slot;
  return {
    connection: given?.id ?? null,
    isShared,
    owner,
    sharingOwner: sharingOwner ?? null,
    aim: writtenAim(aim),
    clientEra,
    isDuplicate,
    isSpent,
    roots: roots
      ? { key: roots.key, kind: roots.answer.kind, json: roots.answer.json.toString() }
      : null,
    former: formerOwner ?? null,
    users: given ? slot.written : null,
    told: [...(given?.told ?? [])],
    supervisor: supervisor.written,
  };
}

/** What was not used of the connections, by number. */
export type TakeConnection = (id: number) => RestoredConnection | undefined;

/** The tasks that were begun on a connection, by its number. */
export type TasksOn = (id: number) => readonly WrittenTask[];

/** Resolves when its connections are in use, or are gone. */
export async function restoreServer(
  server: Server,
  inside: ServerInside,
  state: ServerState,
  take: TakeConnection,
  tasksOn: TasksOn,
): Promise<void> {
  const { slots, facts, history, offerings } = server;
  inside.standings.restore(state.standings, state.spec === inside.spec);
  if (state.spec !== inside.spec) return;
  const now = inside.now();
  const { startMs, listedAt, late, listed } = state.starts;
  const starts = { startMs: startMs ?? undefined, listedAt: listedAt ?? undefined };
  history.restore({ ...starts, late, listed });
  facts.restore(state.facts);
  restoreLists(offerings, state.catalogues, now);
  for (const [noise, count] of state.noise) inside.noise.set(noise as Noise, count);
  inside.setStderr(state.stderr);
  server.learnSecrets(state.secrets);
  // Where clients are distinguished in another way now, their connections are others.
  if (state.isolation !== slots.mode) return;
  const wanted = state.slots.map(({ isShared, owner, sharingOwner, aim }) => ({
    ...{ isShared, owner, sharingOwner: sharingOwner ?? undefined, aim: aimFrom(aim) },
  }));
  const restored = slots.restore(wanted, state.current, state.asks);
  const isPinChanged = state.lazy !== server.config.lazy;
  const adopting = restored.map((slot, place) => {
    const written = state.slots[place];
    return written && restoreSlot(slot, written, inside, take, tasksOn, isPinChanged);
  });
  if (isPinChanged) slots.pin(!server.config.lazy);
  await Promise.all(adopting);
}

function restoreSlot(
  slot: ConnectionSlot,
  state: SlotState,
  { maker, clients }: ServerInside,
  take: TakeConnection,
  tasksOn: TasksOn,
  isPinChanged: boolean,
): Promise<void> | undefined {
  const { clientEra, isDuplicate, isSpent, roots, former, users, told, supervisor } = state;
  slot.clientEra = clientEra;
  slot.isDuplicate = isDuplicate;
  slot.roots = roots
    ? { key: roots.key, answer: { kind: roots.kind, json: roots.json } }
    : undefined;
  slot.formerOwner = former ?? undefined;
  const id = state.connection;
  const connection = id === null ? undefined : take(id);
  let adopted: Promise<void> | undefined;
  if (id !== null && connection !== undefined) {
    const client = users?.client == null ? undefined : clients.of(users.client);
    const tasks = tasksOn(id);
    adopted = maker.expect(slot, { connection, users, client, told, isSpent, tasks });
  }
  const leases = isPinChanged ? { ...supervisor.leases, pinned: false } : supervisor.leases;
  slot.supervisor.restore({ ...supervisor, leases }, connection !== undefined);
  if (connection !== undefined) heldByFormer(slot, connection);
  return adopted;
}

/** A server is in use as long as the process before this one may have calls there. */
function heldByFormer({ supervisor }: ConnectionSlot, { former }: RestoredConnection): void {
  if (former?.over === undefined || !former.mayHaveCalls) return;
  const { leases } = supervisor;
  leases.hold();
  former.over.finally(() => leases.release()).catch(ignored);
}
