// A module that is loaded when it is first needed, and stays. Node looks for its file again at each import, also of one
// that it has loaded: when another version of the program was installed meanwhile, the file is gone.

/** What could not be loaded is tried again the next time. */
export function loadedOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}
