// Handles unsolicited messages of a server so that an error costs only this one message: a notification
// is dropped, a request is answered with an error, so that the server does not wait for an answer that
// never comes. A part of a message that cannot be read in only one way is the server's mistake, and counts
// as noise; every other error is one of our own, and is reported.

import { contain } from '../../kernel/contain.ts';
import type { Handled } from '../../observe/defects.ts';
import type { ConnectionListener } from '../../upstream/connection.ts';
import { internalAnswer, invalidAnswer } from '../../upstream/server-requests.ts';
import { WireError } from '../../wire/wire-error.ts';

export function containedListener(
  listener: ConnectionListener,
  caught: (handled: Handled, error: unknown) => void,
): ConnectionListener {
  const report = (error: unknown) => caught('a message of the server', error);
  const invalid = () => contain(() => listener.noise('invalid-message'), report);
  const guard = (work: () => void) => contain(work, report);
  return {
    lost: (cause) => guard(() => listener.lost(cause)),
    ended: (from) => guard(() => listener.ended(from)),
    lastWords: (stderr) => guard(() => listener.lastWords(stderr)),
    notification: (message, about, from) =>
      contain(
        () => listener.notification(message, about, from),
        (error) => (error instanceof WireError ? invalid() : report(error)),
      ),
    asked: (message, about, from) =>
      contain(
        () => listener.asked(message, about, from),
        (error) => {
          const isInvalid = error instanceof WireError;
          if (isInvalid) invalid();
          else caught('a question of the server', error);
          const answer = isInvalid ? invalidAnswer(message, error) : internalAnswer(message);
          guard(() => from.respond(answer));
        },
      ),
    isOfTask: (message, from) => {
      try {
        return listener.isOfTask?.(message, from) ?? false;
      } catch (error) {
        // What cannot be read in only one way names no task; whoever handles it says so.
        if (!(error instanceof WireError)) report(error);
        return false;
      }
    },
    missed: (from) => guard(() => listener.missed(from)),
    noise: (noise) => guard(() => listener.noise(noise)),
  };
}
