/** The scripted providers of all payment methods that have one. */
import { AlipayServer } from './alipay-server.ts'
import { EpayServer } from './epay-server.ts'
import { StripeServer } from './stripe-server.ts'
import { WechatServer } from './wechat-server.ts'
import type { ScriptedProvider } from './scripted-provider.ts'

export const startProvider = {
  stripe: () => StripeServer.start(),
  alipay: () => AlipayServer.start(),
  wechat: () => WechatServer.start(),
  epay: () => EpayServer.start(1),
} as const satisfies Record<string, () => Promise<ScriptedProvider>>

/** The settings of one relay that uses all of these. */
export function settingsOf(providers: readonly ScriptedProvider[]): Record<string, string> {
  const currency = providers.some(({ method }) => method === 'stripe') ? { STRIPE_CURRENCY: 'CNY' } : {}
  // Nobody connects to this address: the tests deliver notices themselves.
  const shared = { PUBLIC_URL: 'http://127.0.0.1:9', ...currency }
  return Object.assign({}, ...providers.map(({ settings }) => settings), shared) as Record<string, string>
}
