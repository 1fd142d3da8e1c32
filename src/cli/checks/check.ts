// The result of a check. A finding is a problem and always has a remedy; a note is a fact about
// this machine that may explain something; everything else is ok.

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
