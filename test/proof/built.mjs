// Loaded with `--import` before a proof that names modules of src/: it leads each of them to what was
// built from it, so that the proof is about the code that is shipped. HOLDFAST_BUILD names another
// build than dist/, such as a copy with a defect planted in it.

import { register } from 'node:module';

register('./built-hook.mjs', import.meta.url, { data: process.env.HOLDFAST_BUILD ?? null });
