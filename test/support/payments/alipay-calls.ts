/** The API methods of the scripted Alipay. Each throws a `RefusedCallError` with the code of a refusal. */
import { parseMinor } from '../../../src/lib/currency.ts'
import {
  beijingText,
  NoResponseError,
  RefusedCallError,
  yuan,
  type AlipayTrade,
  type AlipayTrades,
} from './alipay-trades.ts'
import type { ProviderFaults, ScriptedNotice } from './scripted-provider.ts'

export type AlipayFields = Readonly<Record<string, string>>

/** What calls use of the server. */
interface CalledServer {
  faults: ProviderFaults
  readonly url: string
  readonly trades: AlipayTrades
  readonly qrProduct: string
  readonly billAddress: string | null
  pay(order: string): string
  notice(order: string): ScriptedNotice
}

type AlipayCall = (
  server: CalledServer,
  content: AlipayFields,
  form: ReadonlyMap<string, string>,
) => AlipayFields | Promise<AlipayFields>

const field = (content: AlipayFields, name: string): string => content[name] ?? ''

function begin(server: CalledServer, content: AlipayFields, form: ReadonlyMap<string, string>): AlipayTrade {
  const [order, expiry] = [field(content, 'out_trade_no'), field(content, 'time_expire')]
  const isValid =
    /^\w{1,64}$/.test(order) && field(content, 'subject') !== '' && expiry > beijingText(Date.now())
  if (!isValid) throw new RefusedCallError('ACQ.INVALID_PARAMETER')
  const noticeUrl = form.get('notify_url') ?? null
  return server.trades.begin(order, parseMinor(field(content, 'total_amount'), 'CNY'), noticeUrl)
}

const named = (server: CalledServer, content: AlipayFields): AlipayTrade =>
  server.trades.find(content['trade_no'] ?? field(content, 'out_trade_no'))

export const alipayCalls: Readonly<Record<string, AlipayCall>> = {
  'alipay.trade.page.pay': (server, content, form) => {
    if (content['product_code'] !== 'FAST_INSTANT_TRADE_PAY')
      throw new RefusedCallError('ACQ.INVALID_PARAMETER')
    begin(server, content, form)
    return {}
  },

  'alipay.trade.precreate': async (server, content, form) => {
    const { create } = server.faults
    if (create === 'unreachable') throw new NoResponseError()
    if (create === 'refused') throw new RefusedCallError('ACQ.TOTAL_FEE_EXCEED')
    if (content['product_code'] !== server.qrProduct) throw new RefusedCallError('ACQ.ACCESS_FORBIDDEN')
    const trade = begin(server, content, form)
    if (create === 'notice-first') {
      server.pay(trade.order)
      const { headers, body } = server.notice(trade.order)
      await fetch(trade.noticeUrl ?? '', { method: 'POST', headers, body })
    }
    return { out_trade_no: trade.order, qr_code: `https://qr.alipay.com/${trade.transaction}` }
  },

  'alipay.trade.query': (server, content) => {
    const trade = named(server, content)
    const isFlapping = server.faults.query === 'flapping'
    if (isFlapping) server.faults = {}
    return {
      out_trade_no: trade.order,
      trade_no: trade.transaction,
      trade_status: isFlapping ? 'WAIT_BUYER_PAY' : (trade.status ?? ''),
      total_amount: yuan(trade.amountMinor),
      buyer_pay_amount: yuan(trade.amountMinor - trade.couponMinor),
      receipt_amount: yuan(trade.amountMinor - trade.couponMinor),
      buyer_logon_id: '138****0000',
      buyer_user_id: '2088102116773037',
      ...(trade.currency === 'CNY' ? {} : { trans_currency: trade.currency }),
      ...(trade.paidAt === null ? {} : { send_pay_date: beijingText(trade.paidAt) }),
    }
  },

  'alipay.trade.close': (server, content) => {
    const { close } = server.faults
    if (close === 'timeout') throw new NoResponseError()
    const order = field(content, 'out_trade_no')
    if (close === 'says-paid' && server.trades.all.has(order)) server.pay(order)
    const trade = named(server, content)
    server.trades.close(trade)
    return { out_trade_no: trade.order, trade_no: trade.transaction }
  },

  'alipay.trade.refund': (server, content) => {
    const { refund } = server.faults
    if (refund === 'refused') throw new RefusedCallError('ACQ.TRADE_NOT_ALLOW_REFUND')
    if (refund === 'abnormal') throw new RefusedCallError('ACQ.SELLER_BALANCE_NOT_ENOUGH')
    if (refund === 'odd-code') throw new RefusedCallError('ACQ.SOMETHING_NEW')
    const trade = named(server, content)
    const amountMinor = parseMinor(field(content, 'refund_amount'), 'CNY')
    const state = refund === 'processing' ? refund : 'done'
    const isMoved = server.trades.refund(trade, field(content, 'out_request_no'), amountMinor, state)
    if (refund === 'timeout') throw new NoResponseError()
    return { out_trade_no: trade.order, trade_no: trade.transaction, fund_change: isMoved ? 'Y' : 'N' }
  },

  'alipay.trade.fastpay.refund.query': (server, content): AlipayFields => {
    const trade = named(server, content)
    const refund = trade.refunds.find(({ number }) => number === content['out_request_no'])
    if (refund === undefined) return {}
    const refund_status = refund.state === 'done' ? 'REFUND_SUCCESS' : 'REFUND_PROCESSING'
    return { out_request_no: refund.number, refund_amount: yuan(refund.amountMinor), refund_status }
  },

  'alipay.data.dataservice.bill.downloadurl.query': (server, content) => {
    const day = field(content, 'bill_date')
    if (server.faults.bill === 'missing' || server.trades.bill(day) === null)
      throw new RefusedCallError('isp.bill_not_exist')
    return { bill_download_url: server.billAddress ?? `${server.url}/bill?day=${day}` }
  },
}
