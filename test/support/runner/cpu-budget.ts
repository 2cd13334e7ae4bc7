/** Compares the CPU time of a run with the budget of its suite, in units of a fixed program measured in the same run. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import type { FileUsage } from './report-usage.ts'
import type { Suite } from './suite.ts'

interface Budgets {
  /** How many units a complete run of a suite may use. */
  readonly suites: Partial<Record<Suite, number>>
  /** How many units single files used when the budget was set; those below one unit are left out. */
  readonly files: Readonly<Record<string, number>>
}

const program = fileURLToPath(new URL('./reference-program.ts', import.meta.url))
/** Smaller growth of a file is noise. */
const minGrowthUnits = 2

/** The CPU time of the fixed program, in ms. */
export function measureReference(): number {
  return Number(execFileSync(process.execPath, [program], { encoding: 'utf8' }))
}

export function readBudgets(): Budgets {
  return JSON.parse(readFileSync(new URL('../../cpu-budgets.json', import.meta.url), 'utf8')) as Budgets
}

/** What is over the budget: undefined if nothing is, otherwise the files that grew most. */
export function findOverrun(
  usage: readonly FileUsage[],
  referenceMs: number,
  budgetUnits: number,
  { files }: Pick<Budgets, 'files'>,
): string[] | undefined {
  const units = (ms: number): number => ms / referenceMs
  const total = usage.reduce((sum, { cpuMs }) => sum + units(cpuMs), 0)
  if (total <= budgetUnits) return undefined
  const growth = usage.map(({ file, cpuMs }) => ({ file, grown: units(cpuMs) - (files[file] ?? 0) }))
  return growth
    .filter(({ grown }) => grown >= minGrowthUnits)
    .toSorted((a, b) => b.grown - a.grown)
    .map(({ file, grown }) => `${file}: ${grown.toFixed(1)} units more than when the budget was set`)
}
