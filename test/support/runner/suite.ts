/** `npm test` runs the short suite, `npm run test:all` all tests, `npm run check:long` also their long forms. */
export const suites = ['short', 'all', 'long'] as const
export type Suite = (typeof suites)[number]

/** How many trials a test runs: fewer in the short suite. */
export function trials(counts: { readonly short: number; readonly all: number }): number {
  return (process.env['TEST_SUITE'] ?? 'short') === 'short' ? counts.short : counts.all
}
