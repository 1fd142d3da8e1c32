// A bar for work whose amount is known: how much is done, and what is being waited for.

const cells = 20;

export function progressBar(done: number, total: number, waitingFor: readonly string[]): string {
  const filled = total === 0 ? cells : Math.floor((cells * done) / total);
  const bar = '█'.repeat(filled) + '░'.repeat(cells - filled);
  const rest = waitingFor.length === 0 ? '' : ` · waiting for ${waitingFor.join(', ')}`;
  return `${bar} ${done}/${total}${rest}`;
}
