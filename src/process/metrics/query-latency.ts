/** How long a worker's queries take, with their wait for the database: commits of the ledger have a metric of their own. */
import { Histogram, type Registry } from '@prometheus-io/client'
import type { WorkerDb } from '../../db/db.ts'

type QueryKind = 'lookup' | 'read' | 'report' | 'write'
const kinds: readonly QueryKind[] = ['lookup', 'read', 'report', 'write']

/** The same database, whose queries are measured. */
export function measureQueries({ db, lookups }: WorkerDb, registry: Registry): WorkerDb {
  const histogram = new Histogram({
    name: 'sluice_database_query_seconds',
    help: 'Duration of queries of the store, including their wait: lookups of relayed requests, reads and writes of the APIs, reports',
    labelNames: ['kind'] as const,
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  for (const kind of kinds) histogram.zero({ kind })
  const time = async <Result>(kind: QueryKind, query: Promise<Result>): Promise<Result> => {
    const startedMs = performance.now()
    try {
      return await query
    } finally {
      histogram.observe({ kind }, (performance.now() - startedMs) / 1000)
    }
  }
  return {
    lookups: { first: (query) => time('lookup', lookups.first(query)) },
    db: {
      all: (query) => time('read', db.all(query)),
      first: (query) => time('read', db.first(query)),
      report: (query, account) => time('report', db.report(query, account)),
      write: (...queries) => time('write', db.write(...queries)),
    },
  }
}
