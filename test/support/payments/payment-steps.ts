/** What tests of payments do at a relay, and wait for. */
import { sql } from '../../../src/db/schema/schema.ts'
import type { PaymentOrder } from '../../../src/http/api/payment-orders.ts'
import type { PaymentRefund } from '../../../src/http/api/payment-refunds.ts'
import { expectResponse } from '../client/admin-api.ts'
import type { Account } from '../server/account.ts'
import { openDatabase } from '../server/database-access.ts'
import type { TestServer } from '../server/test-server.ts'
import { deliverNotice, type ScriptedNotice, type ScriptedProvider } from './scripted-provider.ts'
import { waitUntil } from '../wait.ts'

export class PaymentSteps {
  readonly #server: TestServer

  constructor(server: TestServer) {
    this.#server = server
  }

  /** Orders 10.00 with a provider. */
  order({ method }: ScriptedProvider, account: Account, fields: object = {}): Promise<PaymentOrder> {
    const body = { method, amount: '10', ...fields }
    return expectResponse(this.#server, 201, ['POST', `/accounts/${account.id}/orders`, body])
  }

  read({ id }: PaymentOrder): Promise<PaymentOrder> {
    return expectResponse(this.#server, 200, ['GET', `/orders/${id}`])
  }

  refund({ id }: PaymentOrder, fields: object = {}): Promise<PaymentRefund> {
    const body = { reason: 'unused', ...fields }
    return expectResponse(this.#server, 201, ['POST', `/orders/${id}/refunds`, body])
  }

  /** Delivers a notice; by default a genuine one about the order. Returns whether the provider need not send it again. */
  async notify(
    provider: ScriptedProvider,
    { id }: PaymentOrder,
    notice = provider.notice(id),
  ): Promise<boolean> {
    return this.deliver(provider, notice)
  }

  async deliver({ method }: ScriptedProvider, notice: ScriptedNotice): Promise<boolean> {
    const { status } = await deliverNotice(this.#server.url, method, notice)
    return status < 300
  }

  /** Delivers it from another network than the provider's; the relay must trust its loopback as a proxy. */
  deliverFrom(address: string, provider: ScriptedProvider, notice: ScriptedNotice): Promise<boolean> {
    return this.deliver(provider, { ...notice, headers: { ...notice.headers, 'x-forwarded-for': address } })
  }

  /** An order that is paid and credited. */
  async paidOrder(provider: ScriptedProvider, account: Account): Promise<PaymentOrder> {
    const order = await this.order(provider, account)
    provider.pay(order.id)
    await this.notify(provider, order)
    return this.waitForState(order, 'paid')
  }

  /** The order’s time is over, and the poller asks about it next. */
  async expire({ id }: PaymentOrder): Promise<void> {
    const store = await openDatabase(this.#server.relay)
    const table = sql.updateTable('payment_orders').set({ expires_at: Date.now() - 1, next_check_at: 1 })
    await store.db.write(table.where('id', '=', id))
    await store.close()
  }

  /** Waits until a provider was asked about the order that often. */
  async waitForChecks({ id }: PaymentOrder, checks: number): Promise<void> {
    const store = await openDatabase(this.#server.relay)
    await waitUntil(async () => {
      const query = sql.selectFrom('payment_orders').select('checks').where('id', '=', id)
      return ((await store.db.first(query))?.checks ?? 0) >= checks
    }, 'a check of the order')
    await store.close()
  }

  waitForState(order: PaymentOrder, state: PaymentOrder['state']): Promise<PaymentOrder> {
    return waitUntil(async () => {
      const current = await this.read(order)
      return current.state === state ? current : undefined
    }, `the order to be ${state}`)
  }
}
