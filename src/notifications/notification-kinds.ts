/** The kinds of notifications per audience. Preferences are set by kind. */
import { invalidField } from '../errors.ts'

export const operatorAudience = 'operator'

export const notificationKinds = {
  /** To an account: spend caps, balance, changes of the account, unusual use of a key, incidents. */
  account: ['spend_cap', 'balance', 'account', 'key', 'incident', 'payment'],
  /**
   * To operators. `model_mismatch`: an upstream responds with another model than its route asks for. `maximum_exceeded`: it
   * writes more output tokens than it is asked for. `unknown_finish`: it ends a response with a reason that its provider does
   * not document.
   */
  operator: [
    'promotion',
    'incident',
    'availability',
    'address',
    'backup',
    'payment',
    'model_mismatch',
    'maximum_exceeded',
    'unknown_finish',
  ],
} as const

export type NotificationKind = (typeof notificationKinds)[keyof typeof notificationKinds][number]

/** The kinds that an audience (`operator`, or an account's id) receives. */
export function kindsFor(audience: string): readonly NotificationKind[] {
  return audience === operatorAudience ? notificationKinds.operator : notificationKinds.account
}

/** Throws 400 naming `kind`. */
export function checkKind(audience: string, kind: string): NotificationKind {
  const known = kindsFor(audience).find((each) => each === kind)
  if (known !== undefined) return known
  throw invalidField('kind', `must be one of ${kindsFor(audience).join(', ')}`)
}
