/** All scripted providers of one installation, with a clock that the test sets, and the public address of its relays. */
import { Prng } from '../../sim/prng.ts'
import { AlipayServer } from '../support/payments/alipay-server.ts'
import { EpayServer } from '../support/payments/epay-server.ts'
import { NoticeForwarder } from '../support/payments/notice-forwarder.ts'
import { settingsOf } from '../support/payments/providers.ts'
import type {
  NoticeFault,
  ProviderFaults,
  ScriptedNotice,
  ScriptedProvider,
} from '../support/payments/scripted-provider.ts'
import { StripeServer } from '../support/payments/stripe-server.ts'
import { WechatServer } from '../support/payments/wechat-server.ts'

const preload = new URL('../support/server/preload/shifted-clock.ts', import.meta.url).href

/** What a provider does next; half of the time it works. */
const faults: readonly ProviderFaults[] = [
  { create: 'notice-first' },
  { create: 'unreachable' },
  { create: 'refused' },
  ...(['timeout', 'html', 'unsigned', 'bad-signature', 'server-error', 'flapping'] as const).map((query) => ({
    query,
  })),
  { close: 'says-paid' },
  { close: 'timeout' },
]
export const refundFaults: readonly ProviderFaults[] = [
  {},
  {},
  ...(['timeout', 'processing', 'refused', 'abnormal', 'odd-code'] as const).map((refund) => ({ refund })),
]

export class PaymentWorld {
  readonly prng: Prng
  readonly providers: readonly ScriptedProvider[]
  readonly forwarder: NoticeForwarder
  readonly #setAhead: (ms: number) => void

  private constructor(
    seed: number,
    providers: readonly ScriptedProvider[],
    forwarder: NoticeForwarder,
    setAhead: (ms: number) => void,
  ) {
    this.prng = new Prng(seed)
    this.providers = providers
    this.forwarder = forwarder
    this.#setAhead = setAhead
  }

  static async open(seed: number, epayVersion: 1 | 2): Promise<PaymentWorld> {
    let aheadMs = 0
    const now = (): number => Date.now() + aheadMs
    const stripe = await StripeServer.start(now)
    const alipay = await AlipayServer.start(now)
    const wechat = await WechatServer.start()
    const epay = await EpayServer.start(epayVersion)
    const setAhead = (ms: number): void => {
      aheadMs = ms
      wechat.aheadMs = ms
      epay.aheadMs = ms
    }
    return new PaymentWorld(seed, [stripe, alipay, wechat, epay], await NoticeForwarder.start(), setAhead)
  }

  /** The settings of its relays. */
  get env(): Record<string, string> {
    return {
      ...settingsOf(this.providers),
      PUBLIC_URL: this.forwarder.url,
      PAYMENT_MAX_DAY: '1000000000',
      NODE_OPTIONS: `--import=${preload}`,
    }
  }

  /** The clock of all providers. */
  setAhead(ms: number): void {
    this.#setAhead(ms)
  }

  disturb(provider: ScriptedProvider): void {
    provider.faults = this.prng.bool(0.5) ? {} : this.prng.pick(faults)
  }

  calm(): void {
    for (const provider of this.providers) provider.faults = {}
  }

  /** undefined: the provider knows nothing of the order yet. */
  noticeOf(provider: ScriptedProvider, order: string, fault?: NoticeFault): ScriptedNotice | undefined {
    try {
      return provider.notice(order, fault)
    } catch {
      return undefined
    }
  }

  /** undefined: the provider has no such notices, or knows nothing of the refund. */
  refundNoticeOf(provider: ScriptedProvider, refund: string): ScriptedNotice | undefined {
    try {
      return provider.refundNotice?.(refund)
    } catch {
      return undefined
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.providers, this.forwarder].map((each) => each[Symbol.asyncDispose]()))
  }
}
