/** The kinds of notices, by who gets them: what preferences are set for. */
import { refuse } from '../errors.ts'

export const operator = 'operator'

export const noticeKinds = {
  /** To an account: its caps, its balance, what changed about it, a key that is used unusually. */
  account: ['spend_cap', 'balance', 'account', 'key', 'incident'],
  /** To operators. */
  operator: ['promotion', 'incident', 'availability', 'address', 'backup'],
} as const

export type NoticeKind = (typeof noticeKinds)[keyof typeof noticeKinds][number]

/** The kinds that an audience (`operator`, or an account's id) gets. */
export function kindsFor(audience: string): readonly NoticeKind[] {
  return audience === operator ? noticeKinds.operator : noticeKinds.account
}

/** Refuses with 400 naming `kind`. */
export function checkKind(audience: string, kind: string): NoticeKind {
  const known = kindsFor(audience).find((each) => each === kind)
  if (known !== undefined) return known
  const names = kindsFor(audience).join(', ')
  throw refuse('invalid_request', { param: 'kind', message: `kind has to be one of ${names}.` })
}
