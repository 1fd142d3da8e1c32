// Wraps the timers, the process and the HTTP exchanges of one server, so that an unexpected error
// affects only this server. A process whose output could not be handled is ended, and an HTTP
// exchange aborted, because its data is useless then; supervision handles it like any lost server.
// No such error becomes an uncaught exception of the process.

import type { Clock } from '../../kernel/clock.ts';
import { contain } from '../../kernel/contain.ts';
import type { Defects, Handled } from '../../observe/defects.ts';
import type { Child, ChildListener } from '../../supervise/child.ts';
import type { HttpClient, HttpInFlight, HttpListener } from '../../upstream/http/http-client.ts';
import type { Edges } from './server-parts.ts';

/** `server` is named in reports. */
export function containedEdges(edges: Edges, defects: Defects, server: string): Edges {
  const caught = (handled: Handled) => (error: unknown) => {
    defects.caught(handled, error, server);
  };
  return {
    random: edges.random,
    clock: containedClock(edges.clock, caught('a timer')),
    spawn: containedSpawn(edges.spawn, caught('the output of the process')),
    ...(edges.adopt && { adopt: containedSpawn(edges.adopt, caught('the output of the process')) }),
    ...(edges.adoptConnection && { adoptConnection: edges.adoptConnection }),
    http: containedHttp(edges.http, caught('an answer over HTTP')),
  };
}

export function containedClock(clock: Clock, caught: (error: unknown) => void): Clock {
  return {
    now: () => clock.now(),
    wallNow: () => clock.wallNow(),
    after: (ms, task, background) => clock.after(ms, () => contain(task, caught), background),
  };
}

/** The same for one that is started and for one that is taken over. */
function containedSpawn<Given>(
  spawn: (given: Given, listener: ChildListener) => Promise<Child>,
  caught: (error: unknown) => void,
): (given: Given, listener: ChildListener) => Promise<Child> {
  return async (spec, listener) => {
    let child: Child | undefined;
    let isBroken = false;
    const failed = (error: unknown) => {
      isBroken = true;
      caught(error);
      child?.signal('SIGKILL');
    };
    child = await spawn(spec, {
      // A part of the output is missing after an error, so what follows is not read either.
      stdout: (chunk) => isBroken || contain(() => listener.stdout(chunk), failed),
      stderr: (chunk) => contain(() => listener.stderr(chunk), failed),
      ended: () => contain(() => listener.ended(), failed),
      exited: (exit) => contain(() => listener.exited(exit), failed),
    });
    if (isBroken) child.signal('SIGKILL');
    return child;
  };
}

function containedHttp(http: HttpClient, caught: (error: unknown) => void): HttpClient {
  return {
    send: (request, listener) => {
      let inFlight: HttpInFlight | undefined;
      let isBroken = false;
      const failed = (error: unknown) => {
        isBroken = true;
        caught(error);
        inFlight?.abort();
        contain(() => listener.failed(asError(error)), caught);
      };
      const guarded: HttpListener = {
        sent: () => contain(() => listener.sent(), failed),
        response: (status, headers) => contain(() => listener.response(status, headers), failed),
        data: (chunk) => isBroken || contain(() => listener.data(chunk), failed),
        ended: () => isBroken || contain(() => listener.ended(), failed),
        failed: (error) => contain(() => listener.failed(error), caught),
      };
      contain(() => {
        inFlight = http.send(request, guarded);
        if (isBroken) inFlight.abort();
      }, failed);
      return { abort: () => inFlight?.abort() };
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
