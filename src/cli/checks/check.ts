// What a check comes to. A finding is something to repair and always says how; a note is a fact about
// this machine that explains something later; everything else is fine.

export type Check =
  | { readonly kind: 'ok'; readonly subject: string; readonly text: string }
  | { readonly kind: 'note'; readonly subject: string; readonly text: string }
  | {
      readonly kind: 'finding';
      readonly subject: string;
      readonly text: string;
      readonly remedy: string;
    };

export function ok(subject: string, text: string): Check {
  return { kind: 'ok', subject, text };
}

export function note(subject: string, text: string): Check {
  return { kind: 'note', subject, text };
}

export function finding(subject: string, text: string, remedy: string): Check {
  return { kind: 'finding', subject, text, remedy };
}
