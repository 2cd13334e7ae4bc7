/** Settings of payments. A method is on once its own settings are complete; `src/payments/` reads them. */
import {
  amountText,
  cidrList,
  duration,
  flag,
  inGroup,
  integer,
  InvalidSettingError,
  oneOf,
  secret,
  splitList,
} from '../lib/setting-types.ts'

/** In the order in which pages show them. */
export const methodNames = ['stripe', 'alipay', 'wechat', 'epay', 'bank'] as const
export type MethodName = (typeof methodNames)[number]
const minute = 60_000

/** Text that is absent unless set. Only spaces are not a value. */
const optionalText = {
  allowed: 'text',
  defaultText: 'none',
  read(text: string | undefined): string | null {
    if (text !== undefined && text.trim() === '') throw new InvalidSettingError('it is blank')
    return text ?? null
  },
}

const secretText = { ...optionalText, ...secret }

/** A public or private key or certificate: PEM, or base64 without the lines around it. */
const keyText = { ...secretText, allowed: 'PEM text, or its base64' }
const certificateText = { ...secretText, allowed: 'PEM text' }
const severalKeys = 'PEM text, or its base64; several, comma-separated'

function baseUrl(defaultText: string) {
  return {
    allowed: 'an https URL',
    defaultText,
    read(text: string | undefined): string {
      const value = text ?? defaultText
      if (!URL.canParse(value) || !/^https?:/.test(value)) throw new InvalidSettingError()
      return value
    },
  }
}

/** Of one method: `percent` in millionths, `fixed` as text in the method's currency. */
export interface PaymentFee {
  readonly percentPpm: number
  readonly fixed: string
}

const feePattern = /^(?:(\d{1,2})(?:\.(\d{1,4}))?%)?(?:(?:^|\+)(\d{1,9}(?:\.\d{1,3})?))?$/

/** `2.9%+0.30` → 29,000 millionths and `0.30`. */
function parseFee(text: string): PaymentFee {
  const [match, whole, fraction = '', fixed] = feePattern.exec(text) ?? []
  if (match === undefined || match === '') throw new InvalidSettingError()
  const percentPpm = Number(whole ?? 0) * 10_000 + Number(fraction.padEnd(4, '0'))
  return { percentPpm, fixed: fixed ?? '0' }
}

export const paymentSettings = inGroup('Payments', {
  paymentMethods: {
    env: 'PAYMENT_METHODS',
    doc: 'The order in which the recharge page shows the payment methods; those that it does not name come last.',
    allowed: `comma-separated names of ${methodNames.join(', ')}`,
    defaultText: methodNames.join(','),
    read(text: string | undefined): MethodName[] {
      return splitList(text).map((part) => oneOf('bank', methodNames).read(part))
    },
  },
  paymentMin: {
    env: 'PAYMENT_MIN',
    doc: 'The minimum amount of an order, in the currency of its method.',
    ...amountText('1'),
  },
  paymentMax: {
    env: 'PAYMENT_MAX',
    doc: 'The maximum amount of an order, in the currency of its method.',
    ...amountText('50000'),
  },
  paymentMaxDay: {
    env: 'PAYMENT_MAX_DAY',
    doc: 'The maximum amount that an account can order in 24 hours, in the currency of the method.',
    ...amountText('200000'),
  },
  openOrders: {
    env: 'OPEN_ORDERS',
    doc: 'How many unpaid orders the customers of an account may have open. Orders of operators, of the admin API and of automatic recharges do not count.',
    ...integer(5, 1, 10_000),
  },
  ordersPerHour: {
    env: 'ORDERS_PER_HOUR',
    doc: 'How many orders the customers of an account may make in an hour with one method, ended ones included. Orders of operators, of the admin API and of automatic recharges do not count.',
    ...integer(10, 1, 10_000),
  },
  paymentExpiryMs: {
    env: 'PAYMENT_EXPIRY',
    doc: 'How long an order can be paid; at Stripe at least 35 minutes, at WeChat Pay at most two hours, by bank transfer always 14 days. Payments that arrive later are credited all the same, for 90 days.',
    ...duration('30m', 5 * minute, 1435 * minute),
    allowed: 'a duration from `5m` to `1435m`',
  },
  paymentAllow: {
    env: 'PAYMENT_ALLOW',
    doc: 'Private addresses that payment providers may have, for tests. Where `PUBLIC_URL` or a base URL names one of them literally, http is accepted in place of https.',
    ...cidrList,
  },
  paymentFees: {
    env: 'PAYMENT_FEES',
    doc: 'The fee of a method, deducted from the credit, shown before the payment and rounded up to the minor unit.',
    allowed: 'comma-separated, such as `stripe:2.9%+0.30,alipay:0.6%`',
    defaultText: 'none',
    read(text: string | undefined): ReadonlyMap<MethodName, PaymentFee> {
      const fees = splitList(text).map((part) => {
        const [name = '', ...fee] = part.split(':')
        return [oneOf('bank', methodNames).read(name.trim()), parseFee(fee.join(':').trim())] as const
      })
      const byMethod = new Map(fees)
      if (byMethod.size < fees.length) throw new InvalidSettingError('a method has two fees')
      return byMethod
    },
  },
  refundSelf: {
    env: 'REFUND_SELF',
    doc: 'Approves a refund of a whole payment automatically if it is requested within 24 hours and nothing of it was spent.',
    ...flag('0'),
  },
  disputeStopsKeys: {
    env: 'DISPUTE_STOPS_KEYS',
    doc: 'A dispute (chargeback) suspends the account, and with it its keys.',
    ...flag('0'),
  },
  stripeSecretKey: {
    env: 'STRIPE_SECRET_KEY',
    doc: 'Stripe: the secret key (`sk_…`), or better a restricted one (`rk_…`).',
    ...secretText,
  },
  stripeWebhookSecret: {
    env: 'STRIPE_WEBHOOK_SECRET',
    doc: 'Stripe: the signing secret of the webhook endpoint; several while it is rolled.',
    ...secretText,
    allowed: 'comma-separated secrets `whsec_…`',
  },
  stripeCurrency: {
    env: 'STRIPE_CURRENCY',
    doc: 'Stripe: the currency of orders. One other than `CURRENCY` needs a rate (`POST /payment-rates`).',
    ...optionalText,
    allowed: 'an ISO 4217 code such as `USD`',
    defaultText: '`CURRENCY`',
  },
  stripeBase: {
    env: 'STRIPE_BASE',
    doc: 'Stripe: the address of its API.',
    ...baseUrl('https://api.stripe.com'),
  },
  stripeLive: {
    env: 'STRIPE_LIVE',
    doc: 'Stripe: live (`1`) or test mode (`0`). A secret key of the other mode refuses the start.',
    ...optionalText,
    allowed: '`1` or `0`',
    defaultText: 'the mode of the secret key',
  },
  alipayAppId: { env: 'ALIPAY_APP_ID', doc: 'Alipay: the id of the app.', ...optionalText },
  alipaySellerId: {
    env: 'ALIPAY_SELLER_ID',
    doc: 'Alipay: the id of the merchant (`2088…`).',
    ...optionalText,
  },
  alipayPrivateKey: { env: 'ALIPAY_PRIVATE_KEY', doc: 'Alipay: the private key of the app.', ...keyText },
  alipayPublicKey: {
    env: 'ALIPAY_PUBLIC_KEY',
    doc: 'Alipay: Alipay’s public key, which is not the one of the app; several while Alipay replaces it. Instead of it, the three certificates can be set.',
    ...keyText,
    allowed: severalKeys,
  },
  alipayAppCert: {
    env: 'ALIPAY_APP_CERT',
    doc: 'Alipay: the certificate of the app (`appCertPublicKey`).',
    ...certificateText,
  },
  alipayCert: {
    env: 'ALIPAY_CERT',
    doc: 'Alipay: Alipay’s certificate (`alipayCertPublicKey_RSA2`).',
    ...certificateText,
  },
  alipayRootCert: {
    env: 'ALIPAY_ROOT_CERT',
    doc: 'Alipay: Alipay’s root certificates (`alipayRootCert`).',
    ...certificateText,
  },
  alipayProducts: {
    env: 'ALIPAY_PRODUCTS',
    doc: 'Alipay: what the contract allows, the default first: the payment page, a QR code, or both.',
    allowed: 'comma-separated `page` and `qr`',
    defaultText: 'page,qr',
    read(text = 'page,qr'): ('page' | 'qr')[] {
      return splitList(text).map((part) => oneOf('page', ['page', 'qr']).read(part))
    },
  },
  alipayBase: {
    env: 'ALIPAY_BASE',
    doc: 'Alipay: the address of the gateway.',
    ...baseUrl('https://openapi.alipay.com/gateway.do'),
  },
  wechatMchid: { env: 'WECHAT_MCHID', doc: 'WeChat Pay: the id of the merchant.', ...optionalText },
  wechatAppid: { env: 'WECHAT_APPID', doc: 'WeChat Pay: the id of the app (`wx…`).', ...optionalText },
  wechatSerial: {
    env: 'WECHAT_SERIAL',
    doc: 'WeChat Pay: the serial number of the merchant’s API certificate.',
    ...optionalText,
  },
  wechatPrivateKey: {
    env: 'WECHAT_PRIVATE_KEY',
    doc: 'WeChat Pay: the private key of the merchant’s API certificate.',
    ...keyText,
  },
  wechatV3Key: {
    env: 'WECHAT_V3_KEY',
    doc: 'WeChat Pay: the API v3 key; several while you replace it.',
    ...secretText,
    allowed: '32 bytes, or several such keys, comma-separated',
  },
  wechatPublicKeyId: {
    env: 'WECHAT_PUBLIC_KEY_ID',
    doc: 'WeChat Pay: the id of WeChat Pay’s public key (`PUB_KEY_ID_…`). Without it, its platform certificates are fetched.',
    ...optionalText,
    allowed: 'an id, or several, comma-separated',
  },
  wechatPublicKey: {
    env: 'WECHAT_PUBLIC_KEY',
    doc: 'WeChat Pay: WeChat Pay’s public key; one for each id, in the same order.',
    ...keyText,
    allowed: severalKeys,
  },
  wechatBase: {
    env: 'WECHAT_BASE',
    doc: 'WeChat Pay: the address of its API.',
    ...baseUrl('https://api.mch.weixin.qq.com'),
  },
  epayBase: {
    env: 'EPAY_BASE',
    doc: 'epay: the address of the site, with its path if it has one.',
    ...optionalText,
    allowed: 'an https URL',
    read(text: string | undefined): string | null {
      return text === undefined ? null : baseUrl('').read(text)
    },
  },
  epayPid: { env: 'EPAY_PID', doc: 'epay: the id of the merchant.', ...optionalText },
  epayKey: { env: 'EPAY_KEY', doc: 'epay: the key of version 1 (MD5).', ...secretText },
  epayPrivateKey: {
    env: 'EPAY_PRIVATE_KEY',
    doc: 'epay: the merchant’s private key of version 2 (RSA), instead of `EPAY_KEY`.',
    ...keyText,
  },
  epayPublicKey: { env: 'EPAY_PUBLIC_KEY', doc: 'epay: the site’s public key of version 2.', ...keyText },
  epayTypes: {
    env: 'EPAY_TYPES',
    doc: 'epay: the means of payment to offer. Without it, the payer chooses at the site; version 2 needs it.',
    allowed: 'comma-separated, such as `alipay,wxpay`',
    defaultText: 'none',
    read(text: string | undefined): string[] {
      const types = splitList(text)
      if (types.some((type) => !/^[a-z0-9]{1,20}$/.test(type))) throw new InvalidSettingError()
      return types
    },
  },
  epayTrustNotice: {
    env: 'EPAY_TRUST_NOTICE',
    doc: 'epay: credits by the notice alone, for sites whose query does not work. Anyone who learns the key can then credit themselves.',
    ...flag('0'),
  },
  bankTransfer: {
    env: 'BANK_TRANSFER',
    doc: 'Bank transfer: where the payer sends the money: payee, bank, account number.',
    ...optionalText,
  },
  bankAccount: {
    env: 'BANK_ACCOUNT',
    doc: 'Bank transfer: the number of the receiving account.',
    ...optionalText,
  },
  bankSecondOperatorAbove: {
    env: 'BANK_SECOND_OPERATOR_ABOVE',
    doc: 'Bank transfer: above this amount, a second operator must confirm what the first one entered.',
    ...optionalText,
    allowed: 'an amount such as `10000`',
    defaultText: 'never',
    read(text: string | undefined): string | null {
      return text === undefined ? null : amountText('').read(text)
    },
  },
})
