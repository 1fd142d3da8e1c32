// A server that only reads: every tool says readOnlyHint, so an operator who trusts it may have its
// calls repeated when they are cut off. It takes a moment to look at the sky.

import { setTimeout as pause } from 'node:timers/promises';
import { serve } from './mcp-server.mjs';

const skies = ['clear', 'cloudy', 'light rain', 'windy', 'fog'];

serve('weather', {
  forecast: {
    description: 'The weather of today in a city.',
    inputSchema: {
      type: 'object',
      properties: { city: { type: 'string', description: 'Name of the city' } },
      required: ['city'],
    },
    annotations: { readOnlyHint: true },
    async run({ city }, report) {
      if (typeof city !== 'string' || city === '') throw new Error('name a city: city=Lisbon');
      report('looking at the sky');
      await pause(400);
      const number = [...city].reduce((sum, letter) => sum + letter.codePointAt(0), 0);
      return `${city}: ${12 + (number % 17)} °C, ${skies[number % skies.length]}`;
    },
  },
  station: {
    description: 'Which process answers.',
    inputSchema: { type: 'object', properties: {} },
    annotations: { readOnlyHint: true },
    run: () => `pid ${process.pid}`,
  },
});
