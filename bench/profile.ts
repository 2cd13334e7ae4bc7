/** Where the product's processor time goes: by thread, and in how many commits. */

import { threadRoles } from './cpu.ts'
import { computeFigures } from './figures.ts'
import type { MeasuredLoad } from './figures.ts'
import { table } from './markdown.ts'

const head = ['', ...threadRoles, 'sum', 'commits per request']

/** Of release 0.7.0 on 2 cores of the same machine type, with the worker on a thread of its own. */
const earlier = [
  ['1 KB, 64 connections', '38–48', '116–138', '41–50', '10–17', '205–253', ''],
  ['1 KB, 8 connections', '', '', '', '', '350–490', ''],
  ['200 streams of 100 chunks, one every 20 ms (per chunk)', '3–6', '31–38', '3–6', '', '37–50', ''],
]

export function profileTables(measured: readonly MeasuredLoad[]): string[] {
  const rows = measured.flatMap((load) => {
    const { measurement } = load
    const figures = computeFigures(load, 'sluice')
    if (
      !figures?.threads ||
      measurement.base !== undefined ||
      measurement.group === 'peers' ||
      figures.invalid !== undefined
    )
      return []
    const { threads, commits } = figures
    const perThread = threadRoles.map((role) => threads[role])
    const sum = perThread.reduce((total, micros) => total + micros, 0)
    const isChunk = measurement.unit === 'chunk'
    const cells = [...perThread, sum].map((micros) => micros.toFixed(1))
    const title = isChunk ? `${measurement.title} (per chunk)` : measurement.title
    return [[title, ...cells, isChunk ? '' : (commits?.toFixed(2) ?? '')]]
  })
  if (rows.length === 0) return []
  return [
    '## Profile by thread',
    '',
    'CPU µs of Sluice per request or chunk, medians over the rounds. `main` decides and keeps the ledger’s state, `worker` serves HTTP (a single worker runs on the main thread), `store` writes to the disk, `other` is garbage collection, compilation and reading.',
    '',
    ...table(head, rows),
    '',
    'Release 0.7.0, November 2026, ranges over several runs (with the baseline relay at 87–107 µs per request and 34–41 per chunk):',
    '',
    ...table(head, earlier),
    '',
  ]
}
