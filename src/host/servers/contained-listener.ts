// What a server says on its own account, handled so that an error nobody expected costs this one
// message: a notification is dropped, a question is answered with an internal error, so that the
// server need not wait for an answer that never comes.

import { contain } from '../../kernel/contain.ts';
import type { Handled } from '../../observe/defects.ts';
import type { ConnectionListener } from '../../upstream/connection.ts';
import { internalAnswer } from '../../upstream/server-requests.ts';

export function containedListener(
  listener: ConnectionListener,
  caught: (handled: Handled, error: unknown) => void,
): ConnectionListener {
  const guard = (work: () => void) =>
    contain(work, (error) => caught('a message of the server', error));
  return {
    lost: (cause) => guard(() => listener.lost(cause)),
    ended: (from) => guard(() => listener.ended(from)),
    lastWords: (stderr) => guard(() => listener.lastWords(stderr)),
    notification: (message, about, from) =>
      guard(() => listener.notification(message, about, from)),
    asked: (message, about, from) =>
      contain(
        () => listener.asked(message, about, from),
        (error) => {
          caught('a question of the server', error);
          guard(() => from.respond(internalAnswer(message)));
        },
      ),
    noise: (noise) => guard(() => listener.noise(noise)),
  };
}
