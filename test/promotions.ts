/** What stories of promotions share. */
import { answered, type Fields } from './contract.ts'
import type { House } from './support/server/test-server.ts'

export interface Opened {
  readonly id: string
  readonly balance: string
  /** Absent where no trial was asked for. */
  readonly trial_credit?: Fields
}

export function open(house: House, email: string, fields: object = {}): Promise<Opened> {
  return answered<Opened>(house, 201, ['POST', '/accounts', { email, trial: true, ...fields }])
}

export function promote(house: House, fields: object = {}): Promise<Fields> {
  return answered(house, 201, ['POST', '/promotions', { name: 'Welcome', amount: '5', ...fields }])
}
