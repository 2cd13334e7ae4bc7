/** What payments use, over a real store, with a balance that tests set. */
import { readConfig } from '../../config.ts'
import type { Db } from '../../db/db.ts'
import { creditOrderById } from '../../ledger/credits/credit-orders.ts'
import { createLog } from '../../lib/log.ts'
import type { PaymentMethod } from '../../payments/payment-method.ts'
import { bonusAtSettlement } from '../../payments/recharge-bonuses.ts'
import { bonusFor } from './order-bonus.ts'
import type { PaymentDeps } from './payment-deps.ts'

const log = createLog('silent')
const unused = (): Promise<never> => Promise.reject(new Error('Not used by these tests'))

/** `wallet`: of the one account, to which credits are added. */
export function paymentDepsOf(
  db: Db,
  method: PaymentMethod,
  wallet: { balance: bigint; held: bigint },
  now: () => number = Date.now,
): PaymentDeps {
  const entered = new Set<string>()
  return {
    db,
    config: readConfig({}),
    log,
    methods: new Map([[method.name, method]]),
    platformCurrency: 'CNY',
    publicUrl: 'https://relay.example',
    now,
    credits: { takeBack: unused, enterWithId: unused },
    wallet: () => Promise.resolve({ ...wallet }),
    availableUnderHolds: () => Promise.resolve(new Map()),
    publishChanges: () => Promise.resolve(),
    async applyCreditOrder(id) {
      const order = await creditOrderById(db, id)
      if (order !== undefined && !entered.has(id)) wallet.balance += order.amountNanos
      entered.add(id)
    },
    bonusFor: (of, creditNanos, at) => bonusFor(db, { account: of, creditNanos, at }),
    bonusAtSettlement: (order, isAsOrdered) => bonusAtSettlement(db, order, isAsOrdered),
  }
}
