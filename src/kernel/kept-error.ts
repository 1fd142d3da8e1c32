// Errors that are kept, such as the last fault of a server. V8 makes the text of a stack when it is first read; until
// then an error holds the frames, and with them the objects whose methods were running: a connection that has ended,
// with its process and its buffers. What is kept is therefore asked for its text first.

/** Enough for every fault of ours; an error may name itself as its cause. */
const maxCauses = 8;

/** The same error, which holds nothing but its texts and what its fields say. */
export function forKeeping<E extends Error>(error: E): E {
  let one: unknown = error;
  for (let causes = 0; one instanceof Error && causes <= maxCauses; causes += 1) {
    // To read it is to make it.
    void one.stack;
    one = one.cause;
  }
  return error;
}
