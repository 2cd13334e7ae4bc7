/** Alipay's list of the payments and refunds of a day: a ZIP of CSV files in GBK, ready in the next morning. */
import { parseHostLiteral } from '../lib/address-guard.ts'
import { readZip, ZipError } from '../lib/zip.ts'
import { parseBeijingTime, type AlipayClient } from './alipay-client.ts'
import { alipayCurrency, readAmount } from './alipay-orders.ts'
import type { PaymentMethodDeps } from './method-deps.ts'
import { pacedLines } from './paced-lines.ts'
import { BillNotReadyError, ProviderError, type BillLine, type Bills } from './payment-method.ts'

const maxArchiveBytes = 64 * 1024 ** 2
const maxBillBytes = 256 * 1024 ** 2
const day = 86_400_000
/** A day without payments has no bill, and neither has one that is late: by then it would be there. */
const surelyReadyAfterMs = 1.5 * day

export function alipayBills(client: AlipayClient, deps: PaymentMethodDeps): Bills {
  return {
    timezone: 'Asia/Shanghai',
    listsRefunds: true,
    includesToday: false,
    async *list(from, to) {
      for (let at = Date.parse(from); at <= Date.parse(to); at += day) {
        yield* pacedLines(await listDay(client, deps, new Date(at).toISOString().slice(0, 10)))
      }
    },
  }
}

async function listDay(
  client: AlipayClient,
  deps: PaymentMethodDeps,
  date: string,
): Promise<Iterable<BillLine>> {
  const method = 'alipay.data.dataservice.bill.downloadurl.query'
  const { refusal, text } = await client.call(method, { bill_type: 'trade', bill_date: date })
  if (refusal !== null && !/BILL_NOT_EXIST/i.test(refusal))
    throw new ProviderError(`Alipay refused the bill (${refusal}).`)
  if (refusal !== null) {
    if (deps.now() >= Date.parse(`${date}T00:00:00+08:00`) + day + surelyReadyAfterMs) return []
    throw new BillNotReadyError(`Alipay has no bill of ${date} yet.`)
  }
  const response = await deps.http.request({
    method: 'GET',
    url: billUrl(text('bill_download_url')),
    headers: {},
    body: null,
    maxBytes: maxArchiveBytes,
  })
  if (response.status !== 200)
    throw new ProviderError(
      `Alipay responded to the download of the bill of ${date} with ${response.status}.`,
    )
  return readBill(response.body)
}

/** Alipay writes http, and serves https as well. */
function billUrl(text: string): string {
  if (!URL.canParse(text)) throw new ProviderError('Alipay stated no address of the bill.')
  const url = new URL(text)
  if (parseHostLiteral(url.hostname) !== null) return url.href
  if (!/\.(?:alipay|alipaydev)\.com$/.test(url.hostname))
    throw new ProviderError(`The bill is at a foreign host (${url.hostname}).`)
  url.protocol = 'https:'
  return url.href
}

/** The lines of an archive. Throws a `ProviderError` if it is not complete. */
export function* readBill(archive: Buffer): Generator<BillLine> {
  const lists = unpack(archive).filter((text) => text.includes('#支付宝业务明细查询'))
  if (lists.length === 0) throw new ProviderError('The bill contains no list.')
  for (const text of lists) yield* readList(text)
}

function unpack(archive: Buffer): string[] {
  try {
    return readZip(archive, maxBillBytes).map(({ data }) => new TextDecoder('gb18030').decode(data))
  } catch (error) {
    if (error instanceof ZipError) throw new ProviderError(`The bill cannot be read: ${error.message}`)
    throw error
  }
}

function* readList(text: string): Generator<BillLine> {
  const rows = text.split(/\r?\n/)
  const isEnd = (row: string): boolean => row.startsWith('#') && row.includes('业务明细列表结束')
  const begin = rows.findIndex((row) => row.startsWith('支付宝交易号'))
  const end = rows.findIndex(isEnd)
  if (begin === -1 || end < begin) throw new ProviderError('The bill is cut.')
  const columns = splitRow(rows[begin] ?? '').map((name) => name.replace(/[（(]元[）)]$/, ''))
  const counts = { payment: 0, refund: 0 }
  for (const row of rows.slice(begin + 1, end)) {
    const line = readLine(columns, splitRow(row))
    if (line.kind !== 'dispute') counts[line.kind] += 1
    yield line
  }
  for (const [kind, name] of [
    ['payment', '交易'],
    ['refund', '退款'],
  ] as const) {
    const stated = new RegExp(`${name}合计：(\\d+)笔`).exec(text)?.[1]
    if (stated !== undefined && BigInt(stated) !== BigInt(counts[kind]))
      throw new ProviderError('The bill states another number of lines than it has.')
  }
}

/** Cells end with a tab, so that spreadsheets keep long numbers. A cell with a comma is quoted. */
function splitRow(row: string): string[] {
  const cells = row.match(/(?<=^|,)(?:"(?:[^"]|"")*"[^,]*|[^,]*)/g) ?? []
  return cells.map((cell) =>
    cell
      .trim()
      .replace(/^"(.*)"$/s, '$1')
      .replaceAll('""', '"')
      .trim(),
  )
}

function readLine(columns: readonly string[], cells: readonly string[]): BillLine {
  if (cells.length !== columns.length) throw new ProviderError('A line of the bill is cut.')
  const text = (name: string): string => cells[columns.indexOf(name)] ?? ''
  const [transaction, at] = [text('支付宝交易号'), parseBeijingTime(text('完成时间'))]
  if (transaction === '' || at === null) throw new ProviderError('A line of the bill cannot be read.')
  // Refunds and fees are negative.
  const amountMinor = readAmount(text('订单金额').replace(/^-/, ''))
  const common = { transaction, currency: alipayCurrency, amountMinor, at }
  if (text('业务类型') === '退款') {
    const reference = text('退款批次号/请求号')
    return {
      kind: 'refund',
      refund: reference || null,
      reference: reference || `${transaction} ${text('完成时间')}`,
      ...common,
    }
  }
  if (text('业务类型') !== '交易') throw new ProviderError('A line of the bill is of an unknown kind.')
  const fee = text('服务费')
  const feeMinor = fee === '' ? null : readAmount(fee.replace(/^-/, ''))
  return { kind: 'payment', order: text('商户订单号') || null, feeMinor, ...common }
}
