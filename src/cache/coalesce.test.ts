import { describe, expect, it } from 'vitest';
import { Fault } from '../kernel/fault.ts';
import { Flights } from './coalesce.ts';

/** A request that is counted, and answered when told to. */
class Request {
  launches = 0;
  signal: AbortSignal | undefined;
  #end: { resolve: (text: string) => void; reject: (thrown: unknown) => void } | undefined;

  readonly launch = (signal: AbortSignal): Promise<string> => {
    this.launches += 1;
    this.signal = signal;
    return new Promise((resolve, reject) => {
      this.#end = { resolve, reject };
    });
  };

  answer(text: string): void {
    this.#end?.resolve(text);
  }

  fail(thrown: unknown): void {
    this.#end?.reject(thrown);
  }
}

describe('a shared request', () => {
  it('is shared by all who ask for the same at the same time', async () => {
    const flights = new Flights<string>();
    const request = new Request();
    const all = [1, 2, 3].map(() => flights.join('k', request.launch));
    request.answer('one');
    expect(await Promise.all(all)).toEqual(['one', 'one', 'one']);
    expect(request.launches).toBe(1);
    expect(flights.size).toBe(0);
  });

  it('is not shared under another key, nor after it has ended', async () => {
    const flights = new Flights<string>();
    const [one, other, later] = [new Request(), new Request(), new Request()];
    const first = flights.join('k', one.launch);
    void flights.join('other', other.launch);
    expect(other.launches).toBe(1);
    one.answer('one');
    await first;
    void flights.join('k', later.launch);
    expect(later.launches).toBe(1);
  });

  it('that fails, fails only for those who waited', async () => {
    const flights = new Flights<string>();
    const [request, next] = [new Request(), new Request()];
    const lost = new Fault('timeout', 'no answer', { dispatched: 'maybe' });
    const all = [1, 2].map(() => flights.join('k', request.launch));
    request.fail(lost);
    const ends = await Promise.allSettled(all);
    expect(ends.map((end) => end.status === 'rejected' && end.reason)).toEqual([lost, lost]);
    const retry = flights.join('k', next.launch);
    next.answer('fine');
    expect(await retry).toBe('fine');
  });

  it('whose start throws synchronously counts as failed', async () => {
    const flights = new Flights<string>();
    const throwing = () => {
      throw new Fault('draining', 'going down');
    };
    await expect(flights.join('k', throwing)).rejects.toMatchObject({ code: 'draining' });
    expect(flights.size).toBe(0);
  });

  it('goes on for the others when one caller cancels', async () => {
    const flights = new Flights<string>();
    const request = new Request();
    const impatient = new AbortController();
    const patient = new AbortController();
    const left = flights.join('k', request.launch, impatient.signal);
    const stayed = flights.join('k', request.launch, patient.signal);
    impatient.abort();
    await expect(left).rejects.toMatchObject({ code: 'cancelled', dispatched: 'maybe' });
    expect(request.signal?.aborted).toBe(false);
    request.answer('one');
    expect(await stayed).toBe('one');
  });

  it('goes on for a caller that cannot cancel', async () => {
    const flights = new Flights<string>();
    const request = new Request();
    const impatient = new AbortController();
    const left = flights.join('k', request.launch, impatient.signal);
    const stayed = flights.join('k', request.launch);
    impatient.abort();
    await expect(left).rejects.toMatchObject({ code: 'cancelled' });
    expect(request.signal?.aborted).toBe(false);
    request.answer('one');
    expect(await stayed).toBe('one');
  });

  it('is cancelled when the last caller cancels, and the next caller starts another', async () => {
    const flights = new Flights<string>();
    const [first, second] = [new Request(), new Request()];
    const callers = [new AbortController(), new AbortController()];
    const left = callers.map(({ signal }) => flights.join('k', first.launch, signal));
    for (const caller of callers) caller.abort();
    const ends = await Promise.allSettled(left);
    expect(ends.map((end) => end.status)).toEqual(['rejected', 'rejected']);
    expect(first.signal?.aborted).toBe(true);

    const newcomer = flights.join('k', second.launch);
    first.fail(new Fault('cancelled', 'called off'));
    await new Promise<void>((resolve) => setImmediate(resolve));
    const joined = flights.join('k', second.launch);
    second.answer('two');
    expect(await Promise.all([newcomer, joined])).toEqual(['two', 'two']);
    expect(second.launches).toBe(1);
  });

  it('is not started for a caller that has already cancelled', async () => {
    const flights = new Flights<string>();
    const request = new Request();
    const gone = flights.join('k', request.launch, AbortSignal.abort());
    await expect(gone).rejects.toMatchObject({ code: 'cancelled', dispatched: 'no' });
    expect(request.launches).toBe(0);
  });

  it('is not cancelled by a caller that cancels after it has ended', async () => {
    const flights = new Flights<string>();
    const [first, second] = [new Request(), new Request()];
    const caller = new AbortController();
    const landed = flights.join('k', first.launch, caller.signal);
    first.answer('one');
    await landed;
    const next = flights.join('k', second.launch);
    caller.abort();
    expect(first.signal?.aborted).toBe(false);
    expect(second.signal?.aborted).toBe(false);
    second.answer('two');
    expect(await next).toBe('two');
  });
});
