/** Bank transfers: nobody can be asked, so an operator confirms what arrived. */
import { formatMinor } from '../lib/currency.ts'
import { referenceOf } from './bank-reference.ts'
import type { PaymentMethodDeps } from './method-deps.ts'
import type { PaymentMethod, ProviderOrder, RefundReading } from './payment-method.ts'
import { requireTogether } from './required-settings.ts'

const lifetimeMs = 14 * 86_400_000

const manualRefund: RefundReading = { state: 'manual' }

/** null: not configured. Throws a `ConfigError` that names the setting that is missing. */
export function createBank({ config, currency }: PaymentMethodDeps): PaymentMethod | null {
  const values = requireTogether(
    { BANK_TRANSFER: config.bankTransfer, BANK_ACCOUNT: config.bankAccount },
    config,
    'bank',
  )
  if (values === null) return null
  return {
    name: 'bank',
    merchant: values.BANK_ACCOUNT,
    currency,
    products: [],
    lifetimeMs: () => lifetimeMs,
    begin(order) {
      const reference = referenceOf(order.id)
      const text = instructionText(values.BANK_TRANSFER, order, reference)
      return Promise.resolve({ kind: 'begun', reference, pay: { kind: 'bank', text } })
    },
    read: () => Promise.resolve({ state: 'unpaid' }),
    close: () => Promise.resolve('unsupported'),
    refund: () => Promise.resolve(manualRefund),
    readRefund: () => Promise.resolve(manualRefund),
    check: () => Promise.resolve(null),
    notices: null,
    bills: null,
  }
}

/** In both languages of the console: the text is stored with the order. */
function instructionText(
  transfer: string,
  { amountMinor, currency }: ProviderOrder,
  reference: string,
): string {
  return [
    transfer.trim(),
    '',
    `金额 Amount: ${formatMinor(amountMinor, currency)} ${currency}`,
    `附言 Reference: ${reference}`,
  ].join('\n')
}
