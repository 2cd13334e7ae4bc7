/** `.csv` after the path of a customer's list: all rows that its filters select. */
import { z } from 'zod'
import {
  csvExport,
  currencyColumn,
  dayColumn,
  exportList,
  exportPageRows,
  keyScopeColumns,
  type CsvExport,
  type ListPage,
} from '../csv-export.ts'
import type { EndpointContract, ResponseOf } from './contract/endpoint.ts'
import { billingContract } from './contract/billing.ts'
import { keyContract } from './contract/keys.ts'
import { usageContract } from './contract/usage.ts'
import { openContext, type ConsoleApp, type ConsoleDeps, type Endpoint } from './context.ts'

type RowOf<Contract> = ResponseOf<Contract> extends { data: (infer Row extends object)[] } ? Row : never

const requests = csvExport<RowOf<typeof usageContract.requests>>(usageContract.requests.path, [
  'time',
  'request_id',
  'key',
  'key_name',
  'model',
  'outcome',
  'http_status',
  'error_code',
  'stream',
  'finish',
  'prompt_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'usage_source',
  'cost',
  'first_token_ms',
  'duration_ms',
  'count',
  currencyColumn,
  dayColumn,
])
const entries = csvExport<RowOf<typeof billingContract.entries>>(billingContract.entries.path, [
  'time',
  'id',
  'kind',
  'amount',
  'balance',
  'source',
  'reason',
  'request_id',
  currencyColumn,
  dayColumn,
])
const keys = csvExport<RowOf<typeof keyContract.list>>(keyContract.list.path, [
  'id',
  'name',
  'prefix',
  'last_four',
  'status',
  'expires_at',
  ...keyScopeColumns,
  'created_at',
  'last_used_at',
])
const sums = ['requests', 'errors', 'prompt_tokens', 'completion_tokens', 'cost', currencyColumn] as const
const series = csvExport<RowOf<typeof usageContract.series>>(usageContract.series.path, [
  dayColumn,
  'time',
  ...sums,
])
const breakdown = csvExport<RowOf<typeof usageContract.breakdown>>(usageContract.breakdown.path, [
  'id',
  'name',
  ...sums,
])

export const consoleExports: readonly (readonly [EndpointContract, CsvExport])[] = [
  [usageContract.requests, requests],
  [usageContract.series, series],
  [usageContract.breakdown, breakdown],
  [billingContract.entries, entries],
  [keyContract.list, keys],
]

/** Exports read their lists through the endpoints, so that authorization, filters and rows are those of the list. */
export function registerCsvExports(app: ConsoleApp, deps: ConsoleDeps, endpoints: readonly Endpoint[]): void {
  for (const [contract, list] of consoleExports) {
    const endpoint = endpoints.find((each) => each.contract === contract)
    if (endpoint === undefined) throw new Error(`No list at ${list.path}`)
    const hasPages = contract.query instanceof z.ZodObject && 'limit' in contract.query.shape
    app.get(`${list.path}.csv`, async (c) => {
      const createContext = await openContext(deps, c, contract)
      const { account } = await createContext(c.req.query())
      return exportList(c, list, {
        timezone: account.timezone,
        forPeople: true,
        async readPage(cursor) {
          const page = hasPages ? { limit: String(exportPageRows), cursor } : {}
          return (await endpoint.handler(await createContext({ ...c.req.query(), ...page }))) as ListPage
        },
      })
    })
  }
}
