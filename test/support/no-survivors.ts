// Loaded before every integration test file: when the file is done, no process that it started may
// be left, alive or as a zombie, and no socket, pipe, server or child handle open. Counted are the
// descendants of this worker and, wherever they have gone, the processes that carry its mark; other
// workers and other people's processes are not ours.
// The mark travels in HOLDFAST_INSTANCE, which every Holdfast hands on to its children.

import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';
import { below, type ProcessRow } from '../../src/supervise/process/watch/process-table.ts';
import { systemProcesses } from '../../src/supervise/process/watch/system-processes.ts';
import { until } from './until.ts';

const patienceMs = 5000;
const table = systemProcesses();
const token = `test-${process.pid}.`;
process.env['HOLDFAST_INSTANCE'] = `${token}0;`;

/** What the test runner itself had running before. */
const bystanders = new Set((await survivors()).map(identify));

/** Handles that keep a process alive. Timers are the test runner's own business, too. */
const handleKinds = [
  'ProcessWrap',
  'PipeWrap',
  'TCPSocketWrap',
  'TCPServerWrap',
  'TLSWrap',
  'FSEventWrap',
];
const handlesBefore = openHandles();

afterAll(async () => {
  let left: ProcessRow[] = [];
  let handles: string[] = [];
  const isAlone = async () => {
    left = await newSurvivors();
    handles = newHandles();
    return left.length + handles.length === 0;
  };
  await until(isAlone, 'nothing is left', patienceMs).catch(() => {}); // what is left is told below
  const descriptions = left.map(describe);
  for (const { pid, isZombie } of left) if (!isZombie) end(pid);
  if (left.length > 0) {
    throw new Error(`processes outlived this test file:\n${descriptions.join('\n')}`);
  }
  if (handles.length > 0) throw new Error(`handles left open: ${handles.join(', ')}`);
});

function openHandles(): ReadonlyMap<string, number> {
  const open = process.getActiveResourcesInfo();
  return new Map(handleKinds.map((kind) => [kind, open.filter((one) => one === kind).length]));
}

/** What is open now and was not before this file, by kind. */
function newHandles(): string[] {
  const grown = [...openHandles()].filter(
    ([kind, count]) => count > (handlesBefore.get(kind) ?? 0),
  );
  return grown.map(([kind, count]) => `${count - (handlesBefore.get(kind) ?? 0)} ${kind}`);
}

async function newSurvivors(): Promise<ProcessRow[]> {
  const left = (await survivors()).filter((row) => !bystanders.has(identify(row)));
  return left.filter(({ pid }) => !isCompiler(pid));
}

/** The compiler of the test runner, which starts it when it first needs it and keeps it. */
function isCompiler(pid: number): boolean {
  return /\besbuild --service=/.test(commandOf(pid));
}

/** A zombie counts only if it is our own child: that of another parent is not ours to collect. */
async function survivors(): Promise<ProcessRow[]> {
  const rows = await table.rows();
  const carriers = await table.carrying(token, rows, '0');
  const ours = new Set([...below(process.pid, rows).map(({ pid }) => pid), ...carriers]);
  ours.delete(process.pid);
  return rows.filter((row) => ours.has(row.pid) && (!row.isZombie || row.parent === process.pid));
}

function identify({ pid, start }: ProcessRow): string {
  return `${pid}:${start}`;
}

function describe({ pid, parent, isZombie }: ProcessRow): string {
  return `  ${pid} (parent ${parent})${isZombie ? ' zombie' : ''} ${commandOf(pid)}`;
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').slice(0, 200);
  } catch {
    // It has ended just now, or there is no /proc.
    return '';
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
