/** The files that decide what is charged: the ones whose mutants the tests must find. */
import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'

import { root } from '../support/source-files.ts'

/** Everything under these folders decides about money. */
const folders = ['src/ledger', 'src/engine', 'src/billing']
/** Payments are held by tests of their own: test/support/payments/method-contract.ts. */
const excluded = ['src/engine/payments']
/** Files elsewhere that bound an invoice. */
export const moneyFilesElsewhere: readonly string[] = [
  'src/limits/early-aborts.ts',
  'src/providers/billing-limits.ts',
  'src/providers/usage.ts',
  'src/relay/bill.ts',
  'src/relay/hold-terms.ts',
  'src/relay/image-bill.ts',
  'src/relay/observed-maximum.ts',
  'src/relay/request/hosted-tools.ts',
  'src/relay/request/input-bound.ts',
  'src/relay/searches-to-hold.ts',
  'src/relay/streaming/flow-control.ts',
]

/** Files that multiply or compare prices without deciding about an account's money, and what for. */
export const otherPricing: Readonly<Record<string, string>> = {
  'src/catalog/price-lists.ts': 'converts published prices that an operator may copy',
  'src/catalog/reference-models.ts': 'converts published prices that an operator may copy',
  'src/db/money-sums.ts': 'adds up what was charged, for reports',
  'src/http/admin/money/vouchers.ts': 'asks for a confirmation above an amount',
  'src/http/api/request-bill.ts': 'shows how a charge came about',
  'src/http/console/account/models.ts': 'shows the prices of a tier',
  'src/http/funds.ts': 'asks whether an account has money, or a model is free',
  'src/jobs/health-checks.ts': 'records what a check costs the operator',
  'src/payments/amounts.ts': 'converts currencies; payments have contract tests of their own',
  'src/relay/count-tokens.ts': 'asks whether a model is free',
  'src/relay/routing/attempt-record.ts': 'records what an attempt costs the operator',
  'src/relay/routing/load-balancing.ts': 'prefers cheap routes',
}

export function isProduct(file: string): boolean {
  return /\.tsx?$/.test(file) && !/\.(test|long|fixture|d)\.tsx?$/.test(file)
}

/** Their paths from the root, sorted. */
export function moneyFiles(): string[] {
  const inFolders = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }))
  const elsewhere = moneyFilesElsewhere.filter((file) => existsSync(join(root, file)))
  return [...inFolders, ...elsewhere]
    .filter((file) => isProduct(file) && !excluded.some((folder) => file.startsWith(`${folder}/`)))
    .toSorted()
}
