/** The file in `DATA_DIR` with the one-time link that creates the first operator. */
export const setupLinkFileName = 'set-up-link.txt'
