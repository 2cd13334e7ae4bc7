/** The list of orders of an epay site, for reconciliation. It is not verified: differences are, by a read. */
import { epayCurrency, isRow, textOf, timeOf, type EpayRow, type EpaySite } from './epay-site.ts'
import type { EpayVersion } from './epay-version.ts'
import type { BillLine, Bills } from './payment-method.ts'

const dayMs = 86_400_000
/** An order can be paid this long after it was made. */
const maxPaidAfterMs = 2 * dayMs
const maxPages = 2000

export class EpayBills implements Bills {
  readonly timezone = 'Asia/Shanghai'
  readonly listsRefunds = false
  readonly includesToday = false
  readonly #site: EpaySite
  readonly #version: EpayVersion

  constructor(site: EpaySite, version: EpayVersion) {
    this.#site = site
    this.#version = version
  }

  async *list(from: string, to: string): AsyncIterable<BillLine> {
    const fromMs = Date.parse(`${from}T00:00:00+08:00`)
    const toMs = Date.parse(`${to}T00:00:00+08:00`) + dayMs
    for await (const row of this.#rows(fromMs - maxPaidAfterMs)) {
      const line = this.#lineOf(row)
      if (line !== null && line.at >= fromMs && line.at < toMs) yield line
    }
  }

  /** null: not paid. */
  #lineOf(row: EpayRow): BillLine | null {
    const status = textOf(row, 'status')
    if (status === '0' || status === '4') return null
    const at = timeOf(row, 'endtime') ?? timeOf(row, 'addtime')
    if (!/^[123]$/.test(status) || at === null)
      throw this.#site.error('listed an order without state or time')
    return {
      kind: 'payment',
      order: textOf(row, 'out_trade_no') || null,
      transaction: textOf(row, 'trade_no'),
      currency: epayCurrency,
      amountMinor: this.#site.minorOf(row),
      feeMinor: null,
      at,
    }
  }

  /**
   * Each row once: rows move to later pages while new orders come in. Ends at an empty page, or at orders made before
   * `oldest` where the list is sorted. A site that ignores the page has no list that is complete.
   */
  async *#rows(oldest: number): AsyncIterable<EpayRow> {
    const seen = new Set<string>()
    let received = 0
    let [last, isSorted] = [Number.POSITIVE_INFINITY, true]
    for (let page = 0; page < maxPages; page += 1) {
      const rows = await this.#version.listOrders(page, received)
      if (rows.length === 0) return
      received += rows.length
      const known = seen.size
      for (const row of rows) {
        if (!isRow(row)) throw this.#site.error('did not respond with a list of orders')
        const [transaction, at] = [textOf(row, 'trade_no'), timeOf(row, 'addtime')]
        if (transaction === '') throw this.#site.error('listed an order without a number')
        isSorted &&= at !== null && at <= last
        last = at ?? last
        if (seen.has(transaction)) continue
        seen.add(transaction)
        yield row
      }
      if (seen.size === known) throw this.#site.error('sends the same page of its list again')
      if (isSorted && last < oldest) return
    }
    throw this.#site.error('has too many orders to list')
  }
}
