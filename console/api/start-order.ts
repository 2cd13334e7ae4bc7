/** Orders a recharge, and shows its page or, where the provider has one, the provider's. */
import { useNavigate } from '@tanstack/react-router'
import { mutateAccount } from './account-queries.ts'
import type { OwnOrder } from './contract.ts'

export interface NewOrder {
  readonly method: string
  /** Empty or null: the method's first. */
  readonly product: string | null
  readonly amount: string
  /** The payer agreed to save the card for automatic recharges. */
  readonly savesCard?: boolean
  /** The same key is the same order, however often it is sent. */
  readonly clientKey: string
}

export function useStartOrder(): (order: NewOrder) => Promise<void> {
  const navigate = useNavigate()
  return async ({ method, product, amount, savesCard = false, clientKey }) => {
    const order = await mutateAccount<OwnOrder>('POST', '/billing/orders', {
      method,
      ...(product === null || product === '' ? {} : { product }),
      amount,
      ...(savesCard && { saves_card: true }),
      client_key: clientKey,
    })
    await navigate({ to: '/billing/orders/$id', params: { id: order.id } })
    if (order.state === 'pending' && order.pay?.url !== undefined) window.location.assign(order.pay.url)
  }
}
