/** The tables of the ledger on its own. */

import type { ClusterRun } from './cluster.ts'
import type { LedgerFigures } from './ledger.ts'
import { grouped, table } from './markdown.ts'

export function ledgerTable(ledger: readonly LedgerFigures[]): string[] {
  if (ledger.length === 0) return []
  const head = ['', 'CPU µs per request', 'requests/s measured', 'p50 ms', 'p99 ms']
  const rows = ledger.map(({ inFlight, micros, perSecond, p50Ms, p99Ms }) => [
    `${inFlight} in flight`,
    micros.toFixed(1),
    grouped(perSecond),
    p50Ms.toFixed(2),
    p99Ms.toFixed(2),
  ])
  return ['## Ledger only: hold and settle', '', ...table(head, rows), '']
}

export function clusterTable(cluster: ClusterRun | null): string[] {
  if (cluster === null) return []
  const head = [
    '',
    'CPU µs per request: nodes',
    'database',
    'requests/s measured',
    'p50 ms',
    'p99 ms',
    'p99 ms of the charge',
  ]
  const rows = cluster.figures.map(
    ({ inFlight, nodeMicros, databaseMicros, perSecond, p50Ms, p99Ms, chargeP99Ms }) => [
      `${inFlight} in flight`,
      nodeMicros.toFixed(1),
      databaseMicros.toFixed(1),
      grouped(perSecond),
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
      chargeP99Ms.toFixed(2),
    ],
  )
  const { requests, entries, journal } = cluster.bytesPerRequest
  const bytes = `Each request adds ${grouped(requests)} bytes to its table, ${grouped(entries)} to the entries and ${grouped(journal)} to the journal, including indexes.`
  return ['## Ledger of three nodes: hold and settle on one account', '', ...table(head, rows), '', bytes, '']
}
