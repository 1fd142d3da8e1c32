import { describe, expect, it } from 'vitest';
import { isJson, readsEvents } from './media-types.ts';

describe('the type of a body', () => {
  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON ;x',
    'application/json;',
  ])('is JSON: %s', (type) => {
    expect(isJson(type)).toBe(true);
  });

  it.each([
    undefined,
    '',
    'text/plain',
    'text/plain; a=application/json',
    'application/json-patch+json',
    'application/jsonp',
    'text/plain, application/json',
    'application/json, text/plain',
    'multipart/form-data; boundary=application/json',
  ])('is not JSON: %j', (type) => {
    expect(isJson(type)).toBe(false);
  });
});

describe('what a client reads', () => {
  it.each([
    undefined,
    '*/*',
    'text/*',
    'text/event-stream',
    'application/json, text/event-stream',
    'application/json,text/event-stream;q=0.5',
    'Text/Event-Stream',
  ])('includes events: %s', (accept) => {
    expect(readsEvents(accept)).toBe(true);
  });

  it.each(['application/json', '', 'text/html', 'text/event-stream;q=0', 'text/event-streams'])(
    'does not include events: %j',
    (accept) => {
      expect(readsEvents(accept)).toBe(false);
    },
  );
});
