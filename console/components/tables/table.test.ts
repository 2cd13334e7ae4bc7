// @own-process – its globals are those of a browser
/** Tables with cells of every kind grow and shrink while they are shown. */
import { describe, test } from 'node:test'
import { setUpOperator, signUpCustomer } from '../../../test/support/console/console-session.ts'
import { Account, chatRequest } from '../../../test/support/server/account.ts'
import { sharedTestServer } from '../../../test/support/server/test-server.ts'
import { openConsole } from '../../test-support/open-console.ts'
import { findRow } from '../../test-support/page-steps.ts'
import { screen } from '../../test-support/screen.ts'
import { waitUntil } from '../../../test/support/wait.ts'

const server = await sharedTestServer()

/** A rejected request for a model that does not exist; resolves when its record is stored. */
async function request(account: Account, model: string): Promise<void> {
  await (await account.post(chatRequest(model))).text()
  await waitUntil(
    async () => (await account.requests()).some((record) => record.model === model),
    `the record of ${model}`,
  )
}

describe('Tables', () => {
  test('The requests of an operator grow, shrink and grow again', async (t) => {
    const account = await server.account()
    const operator = await setUpOperator(server)
    await request(account, 'unknown-one')
    const { navigate, refresh } = await openConsole(t, operator, '/operator/requests')
    await findRow('unknown-one', 'Requests')
    await request(account, 'unknown-two')
    await refresh()
    await findRow('unknown-two', 'Requests')
    await navigate('/operator/requests?model=unknown-one')
    await navigate('/operator/requests')
    await findRow('unknown-two', 'Requests')
  })

  test('The usage of a new customer grows from nothing, in Chinese', async (t) => {
    const customer = await signUpCustomer(server, 'new@example.com')
    const account = new Account(server, (await customer.session()).account?.id ?? '')
    await account.newKey()
    const { refresh } = await openConsole(t, customer, '/usage', 'zh-CN')
    await screen.findByRole('heading', { name: '该时间段内暂无请求' })
    for (const model of ['unknown-one', 'unknown-two']) {
      await request(account, model)
      await refresh()
      await findRow(model, '请求记录')
    }
  })
})
