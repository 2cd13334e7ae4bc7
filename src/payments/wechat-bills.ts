/** WeChat Pay's list of the payments and refunds of a day: CSV, ready in the next morning, with its SHA-1. */
import { createHash } from 'node:crypto'
import { parseCidrs } from '../lib/address-guard.ts'
import { parseMinor } from '../lib/currency.ts'
import type { PaymentMethodDeps } from './method-deps.ts'
import { pacedLines } from './paced-lines.ts'
import { BillNotReadyError, ProviderError, type BillLine, type Bills } from './payment-method.ts'
import { mayUseHttp } from './provider-http.ts'
import type { WechatClient } from './wechat-client.ts'

const maxBillBytes = 64 * 1024 ** 2
const day = 86_400_000
/** Before ten o'clock of the next day, a bill that does not exist may still come. */
const surelyReadyAfterMs = 10 * 3_600_000

export function wechatBills(client: WechatClient, deps: PaymentMethodDeps): Bills {
  return {
    timezone: 'Asia/Shanghai',
    listsRefunds: true,
    includesToday: false,
    async *list(from, to) {
      for (let at = Date.parse(from); at <= Date.parse(to); at += day)
        yield* pacedLines(await listDay(client, deps, new Date(at).toISOString().slice(0, 10)))
    },
  }
}

async function listDay(
  client: WechatClient,
  deps: PaymentMethodDeps,
  date: string,
): Promise<Iterable<BillLine>> {
  const path = `/v3/bill/tradebill?bill_date=${date}&bill_type=ALL`
  const { refusal, fields } = await client.call({ method: 'GET', path })
  const readyAt = Date.parse(`${date}T00:00:00+08:00`) + day + surelyReadyAfterMs
  if (refusal === 'NO_STATEMENT_EXIST' && deps.now() >= readyAt) return []
  if (refusal === 'NO_STATEMENT_EXIST' || refusal === 'STATEMENT_CREATING')
    throw new BillNotReadyError(`WeChat Pay has no bill of ${date} yet.`)
  if (refusal !== null) throw new ProviderError(`WeChat Pay refused the bill (${refusal}).`)
  const url = billUrl(fields.text('download_url'), client.settings.base, deps.config.paymentAllow)
  const bill = await client.download(url, maxBillBytes)
  const hash = createHash('sha1').update(bill).digest('hex')
  // The file itself is unsigned.
  if (fields.text('hash_type') !== 'SHA1' || fields.text('hash_value').toLowerCase() !== hash)
    throw new ProviderError(`The bill of ${date} differs from its SHA-1.`)
  return readBill(bill, client.settings.mchid)
}

/** The request for the file is signed: it goes to WeChat Pay's hosts only, to that of WECHAT_BASE, or to a test's. */
function billUrl(text: string, base: string, allow: readonly string[]): string {
  if (!URL.canParse(text)) throw new ProviderError('WeChat Pay stated no address of the bill.')
  const url = new URL(text)
  const isKnown =
    url.host === new URL(base).host ||
    (url.port === '' && /^api\d*\.mch\.weixin\.qq\.com$/.test(url.hostname)) ||
    mayUseHttp(text, parseCidrs(allow.join(',')))
  if (!isKnown || !/^https?:$/.test(url.protocol))
    throw new ProviderError(`The bill is at a foreign host (${url.hostname}).`)
  return url.href
}

/** The lines of a bill. Throws a `ProviderError` if it is not complete, or another merchant's. */
export function* readBill(bill: Uint8Array, mchid: string): Generator<BillLine> {
  const rows = new TextDecoder('utf-8')
    .decode(bill)
    .split(/\r?\n/)
    .filter((row) => row !== '')
  const columns = rows[0]?.split(',') ?? []
  const sums = rows.findIndex((row) => row.startsWith('总交易单数'))
  if (columns[0] !== '交易时间' || sums === -1 || sums !== rows.length - 2)
    throw new ProviderError('The bill is cut.')
  for (const row of rows.slice(1, sums)) {
    const line = readLine(columns, splitRow(row), mchid)
    if (line !== null) yield line
  }
}

/** Each cell begins with a backtick, so that spreadsheets keep long numbers; names of products can contain commas. */
function splitRow(row: string): string[] {
  return row.startsWith('`') ? row.slice(1).split(',`') : []
}

/** null: no money has moved. */
function readLine(columns: readonly string[], cells: readonly string[], mchid: string): BillLine | null {
  if (cells.length !== columns.length) throw new ProviderError('A line of the bill is cut.')
  const text = (name: string): string => cells[columns.indexOf(name)]?.trim() ?? ''
  if (text('商户号') !== mchid) throw new ProviderError('The bill is of another merchant.')
  const at = parseTime(text('交易时间'))
  const [transaction, currency] = [text('微信订单号'), text('货币种类')]
  if (transaction === '' || at === null) throw new ProviderError('A line of the bill cannot be read.')
  const common = { transaction, currency, at }
  switch (text('交易状态')) {
    case 'SUCCESS': {
      const [amountMinor, feeMinor] = [
        readYuan(text('订单金额'), currency),
        readFee(text('手续费'), currency),
      ]
      return { kind: 'payment', order: text('商户订单号') || null, amountMinor, feeMinor, ...common }
    }
    // REVOKED: a payment at a till, taken back at once; other apps of the merchant can have it.
    case 'REFUND':
    case 'REVOKED': {
      const amountMinor = readYuan(text('申请退款金额'), currency)
      if (text('退款状态') === 'FAIL' || amountMinor === 0n) return null
      const reference = numberOf(text('微信退款单号')) ?? `${transaction} ${text('交易时间')}`
      return { kind: 'refund', refund: numberOf(text('商户退款单号')), reference, amountMinor, ...common }
    }
    default:
      throw new ProviderError('A line of the bill is of an unknown kind.')
  }
}

/** Empty cells of numbers are written as 0, too. */
const numberOf = (text: string): string | null => (text === '' || text === '0' ? null : text)

function parseTime(text: string): number | null {
  if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text)) return null
  const at = Date.parse(`${text.replace(' ', 'T')}+08:00`)
  return Number.isNaN(at) ? null : at
}

function readYuan(text: string, currency: string): bigint {
  try {
    return parseMinor(text, currency)
  } catch {
    throw new ProviderError('WeChat Pay stated an amount that cannot be read.')
  }
}

/** Fees have five decimals: null is one that is no whole number of minor units. */
function readFee(text: string, currency: string): bigint | null {
  const exact = /^(\d+(?:\.\d\d)?)0*$/.exec(text)?.[1]
  return exact === undefined ? null : readYuan(exact, currency)
}
