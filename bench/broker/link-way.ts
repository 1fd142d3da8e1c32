// Requests through a broker of the product, by its links: told, or kept. Kept is what a worker and an orchestrator do:
// the request is delivered, the answer is delivered, the request is acknowledged when its answer is on the disk, and
// the answer when it has come. A requester waits for the answer, as a worker does; what was asked counts as settled
// when the broker has confirmed that it is on the disk.

import type { Letter, Link } from '../../src/broker/contract.ts';
import { linkOpener } from '../../src/broker/open-link.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { Answers, type Place, type Requester } from './way.ts';

/** Those of one way are not read by another. */
function kindsOf(isKept: boolean): { readonly ask: string; readonly answer: string } {
  return isKept
    ? { ask: 'kept-ask', answer: 'kept-answer' }
    : { ask: 'told-ask', answer: 'told-answer' };
}

export async function linkRequester(
  { url, requester }: Place,
  isKept: boolean,
): Promise<Requester> {
  const kinds = kindsOf(isKept);
  const link = await openedLink(url, requester, kinds.answer, 'worker');
  const answers = new Answers();
  await link.receive(
    kinds.answer,
    (mail) => {
      mail.ack();
      answers.came(mail.about ?? '', mail.body);
    },
    !isKept,
  );
  /** At most as many as the broker lets wait for its disk. */
  const unconfirmed = new Set<Promise<void>>();
  return {
    ask: (body) => {
      const { id, answer } = answers.wait();
      const letter = {
        id: `${link.self.seat}-${id}`,
        to: 'boss',
        kind: kinds.ask,
        about: id,
        body,
      };
      if (!isKept) {
        link.tell(letter, fail);
        return answer;
      }
      const confirmed: Promise<void> = link
        .deliver(letter)
        .finally(() => unconfirmed.delete(confirmed));
      confirmed.catch(fail);
      unconfirmed.add(confirmed);
      return answer;
    },
    settled: async () => void (await Promise.all(unconfirmed)),
  };
}

export async function linkResponder({ url, responder }: Place, isKept: boolean): Promise<void> {
  const kinds = kindsOf(isKept);
  const link = await openedLink(url, responder, kinds.ask, 'orchestrator');
  await link.receive(
    kinds.ask,
    (mail) => {
      const { id, from, about, body } = mail;
      const { mailbox: to, seat } = from;
      const letter: Letter = { id, to, seat, kind: kinds.answer, about, body };
      if (isKept) link.deliver(letter).then(() => mail.ack(), fail);
      else link.tell(letter, fail);
    },
    !isKept,
  );
}

function openedLink(
  url: string,
  credential: string,
  kind: string,
  holder: 'worker' | 'orchestrator',
): Promise<Link> {
  const open = linkOpener({
    ...{ url, credential, kinds: [kind], clock: systemClock, report: console.error, caught: fail },
    seat: kind,
    holder,
  });
  return open(new AbortController().signal);
}

/** A measurement in which anything fails is none. */
function fail(error: unknown): void {
  console.error(error);
  process.exit(1);
}
