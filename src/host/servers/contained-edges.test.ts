import { describe, expect, it } from 'vitest';
import { FakeHttp } from '../../../test/support/fake-http.ts';
import { ManualClock, settled } from '../../../test/support/manual-clock.ts';
import { ScriptedServer, spawnScripted } from '../../../test/support/scripted-server.ts';
import { EventHub, type HostEvent } from '../../observe/events.ts';
import type { ChildListener } from '../../supervise/child.ts';
import type { HttpListener, HttpRequest } from '../../upstream/http/http-client.ts';
import { containedEdges } from './contained-edges.ts';

function newEdges() {
  const clock = new ManualClock();
  const http = new FakeHttp();
  const servers = { files: new ScriptedServer() };
  const hub = new EventHub(() => 0);
  const told: HostEvent[] = [];
  hub.subscribe((event) => told.push(event));
  const real = { clock, http, spawn: spawnScripted(servers), random: () => 0.5 };
  return { clock, http, servers, told, edges: containedEdges(real, hub.defects, 'files') };
}

const fail = () => {
  throw new TypeError('a defect');
};

describe('a timer whose task throws', () => {
  it('is reported with the name of the server, and the others run', () => {
    const { edges, clock, told } = newEdges();
    const ran: string[] = [];
    edges.clock.after(10, fail);
    edges.clock.after(10, () => ran.push('other'));
    clock.advance(10);
    expect(ran).toEqual(['other']);
    expect(told).toMatchObject([{ kind: 'defect', server: 'files', handled: 'a timer' }]);
  });
});

describe('a process whose output cannot be handled', () => {
  const spec = {
    name: 'files',
    command: '/bin/files',
    args: [],
    env: {},
    inheritEnv: [],
    cwd: '/',
    memoryMb: null,
    processes: null,
  };

  it('is ended, its end is reported, and nothing is thrown', async () => {
    const { edges, servers, told } = newEdges();
    const exits: unknown[] = [];
    const listener: ChildListener = {
      stdout: fail,
      stderr: () => {},
      ended: () => {},
      exited: (exit) => exits.push(exit),
    };
    await edges.spawn(spec, listener);
    servers.files.child.say('anything');
    await settled();
    expect(exits).toEqual([{ code: null, signal: 'SIGKILL' }]);
    expect(told).toMatchObject([{ server: 'files', handled: 'the output of the process' }]);
  });

  it('is not read on, because a part of its output is missing', async () => {
    const { edges, servers } = newEdges();
    const read: string[] = [];
    await edges.spawn(spec, {
      stdout: (chunk) => {
        read.push(String(chunk));
        fail();
      },
      stderr: () => {},
      ended: () => {},
      exited: () => {},
    });
    servers.files.child.say('first');
    servers.files.child.say('second');
    expect(read).toEqual(['first\n']);
  });
});

describe('an HTTP exchange whose answer cannot be handled', () => {
  const request: HttpRequest = {
    url: new URL('https://docs.example/mcp'),
    method: 'POST',
    headers: {},
    body: '{"method":"x"}',
  };

  function listener(changes: Partial<HttpListener>) {
    const failures: string[] = [];
    const quiet: HttpListener = {
      sent: () => {},
      response: () => {},
      data: () => {},
      ended: () => {},
      failed: (error) => failures.push(error.message),
    };
    return { failures, listener: { ...quiet, ...changes } };
  }

  it.each(['sent', 'response', 'data', 'ended'] as const)(
    'is aborted when `%s` throws, and waiting callers are notified',
    (step) => {
      const { edges, http, told } = newEdges();
      const waiting = listener({ [step]: fail });
      edges.http.send(request, waiting.listener);
      http.last.json({});
      expect(waiting.failures).toEqual(['a defect']);
      if (step !== 'ended') expect(http.last.isAborted).toBe(true);
      expect(told).toMatchObject([{ server: 'files', handled: 'an answer over HTTP' }]);
    },
  );

  it('is not read on, because a part of its answer is missing', () => {
    const { edges, http } = newEdges();
    const send = http.send.bind(http);
    // What had arrived before the exchange was aborted still comes.
    http.send = (...args) => {
      send(...args);
      return { abort: () => {} };
    };
    const read: string[] = [];
    const waiting = listener({
      data: (chunk) => {
        read.push(String(chunk));
        fail();
      },
      ended: () => read.push('ended'),
    });
    edges.http.send(request, waiting.listener);
    http.last.json({});
    expect(read).toEqual(['{}']);
  });

  it('ends there when even that throws', () => {
    const { edges, http, told } = newEdges();
    edges.http.send(request, listener({ data: fail, failed: fail }).listener);
    http.last.json({});
    expect(told).toHaveLength(1);
    expect(http.last.isAborted).toBe(true);
  });

  it('is reported as failed when it cannot be sent', () => {
    const { edges, http, told } = newEdges();
    http.send = fail;
    const waiting = listener({});
    edges.http.send(request, waiting.listener).abort();
    expect(waiting.failures).toEqual(['a defect']);
    expect(told).toHaveLength(1);
  });
});
