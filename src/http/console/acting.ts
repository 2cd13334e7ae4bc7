/** An operator looks at the console as a customer sees it, by a sign-in that is audited and shown on every page. */
import { refuse } from '../../errors.ts'
import { actAs, signedInBy } from '../../users/sessions.ts'
import { operatorCalls } from './contract/operator.ts'
import { tokenIn } from './cookie.ts'
import { sessionView } from './session-view.ts'
import { bound, type Bound, type Visit } from './visit.ts'

async function viewNow({ desk, context }: Visit) {
  const { config, db } = desk.house
  const token = tokenIn(config, context.req.header('cookie')) ?? ''
  return sessionView(desk, (await signedInBy(db, token)) ?? null)
}

export const actingCalls: readonly Bound[] = [
  bound(operatorCalls.actAs, async (visit) => {
    const account = visit.house.directory.account(visit.param('id'))
    if (account === undefined) throw refuse('not_found', { message: 'There is no such account.' })
    await actAs(visit.house.db, visit.present, account.id)
    return viewNow(visit)
  }),
  bound(operatorCalls.stopActing, async (visit) => {
    await actAs(visit.house.db, visit.present, null)
    return viewNow(visit)
  }),
]
