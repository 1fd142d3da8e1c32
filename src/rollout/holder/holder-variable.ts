// How a serving process is told that a pid-holder has started it. In a file of its own, because the command line is
// judged before anything else of the program is loaded.

/** In the environment of a serving process: version, ordinal, instance and role, in this order, with `:` between them. */
export const holderVariable = 'HOLDFAST_HOLDER';
