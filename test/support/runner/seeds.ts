/** Seeds of generated tests. A failure names its seed; `TEST_SEED=7 npm test -- smuggling` repeats only that one. */

export interface SeedRange {
  readonly from: number
  readonly count: number
}

/** `count` seeds, or the one in TEST_SEED. */
export function seedRange(count: number): SeedRange {
  const chosen = process.env['TEST_SEED']
  return chosen === undefined ? { from: 1, count } : { from: Number(chosen), count: 1 }
}
