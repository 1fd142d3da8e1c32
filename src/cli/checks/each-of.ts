// Mapping a list a bounded number of items at a time, in order: a laptop must survive a look around.

const parallel = 8;

export async function eachOf<T, R>(
  items: readonly T[],
  map: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const work = async () => {
    for (let index = next++; index < items.length; index = next++) {
      results[index] = await map(items[index] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, work));
  return results;
}
