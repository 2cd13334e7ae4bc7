/** What an operator does to keep a relay going, in a real browser: backups, notices, credentials, refunds, the flow. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { question, type Account } from './support/server/account.ts'
import { becomeOperator, visitor, withoutBrowser, type Visitor } from './support/console/browser.ts'
import { dialogOf, goTo, signInAsOperator } from './support/console/console-steps.ts'
import { shareHouse, type KnownUpstream } from './support/server/test-server.ts'
import { faultsOf } from './support/console/page-checks.ts'
import { openReceiver } from './support/sinks/webhook-sinks.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'

const skip = { skip: withoutBrowser }
/** For what another thread does, on a machine that may be busy. */
const patience = { timeout: 60_000 }
const house =
  withoutBrowser === false ? await shareHouse({ env: { CHANNEL_ALLOW: '127.0.0.0/8' } }) : undefined
let upstream: KnownUpstream | undefined
let customer: Account | undefined
let requestId = ''

function theHouse() {
  assert.ok(house)
  return house
}

before(async () => {
  if (house === undefined) return
  upstream = await house.upstream(saying('Hello!', { input: 1000, output: 100 }), {
    prices: { input: '0.001', output: '0.001' },
  })
  const bad = await house.upstream(failing(503), { name: 'a-backup-with-a-rather-long-name-cn-hangzhou' })
  await house.model('story-model', { upstreams: [upstream] })
  await house.model('broken-model', { upstreams: [bad] })
  customer = await house.account({ balance: '1' })
  const reply = await customer.post(question('story-model'))
  requestId = reply.headers.get('x-request-id') ?? ''
  await reply.text()
  await (await customer.post(question('broken-model'))).text()
})

let hasOperator = false

/** Somebody signed in as the operator. */
async function operator(...given: Parameters<typeof visitor>): Promise<Visitor> {
  const me = await visitor(...given)
  if (hasOperator) await signInAsOperator(me)
  else await becomeOperator(me, theHouse().log)
  hasOperator = true
  return me
}

/** A sweep leaves the page in Chinese; from the next page on it is English again. */
async function inEnglish({ page }: Visitor): Promise<void> {
  await page.evaluate("localStorage.setItem('sluice.language', 'en')")
}

function rowOf(page: Page, table: string, name: string) {
  return page.getByRole('table', { name: table, exact: true }).getByRole('row').filter({ hasText: name })
}

test('an operator makes a backup, has it checked, downloads it and deletes it', skip, async (t) => {
  const me = await operator(t, theHouse().url)
  const { page } = me
  await goTo(page, 'Backup')
  await page.getByRole('heading', { name: 'No backup yet' }).waitFor()
  await page.getByRole('button', { name: 'Make a backup now' }).click()
  const row = rowOf(page, 'Backup', 'backup-')
  await row.getByText('whole', { exact: true }).waitFor(patience)
  await row.getByRole('button', { name: 'Check', exact: true }).click()
  await page
    .getByRole('button', { name: 'Make a backup now' })
    .and(page.locator(':enabled'))
    .waitFor(patience)
  await row.getByText('whole', { exact: true }).waitFor(patience)
  const [download] = await Promise.all([
    page.waitForEvent('download', patience),
    row.getByRole('link', { name: 'Download' }).click(),
  ])
  assert.match(download.suggestedFilename(), /^backup-[\dT-]+\.tar$/)
  await download.delete()
  const faults = await faultsOf(me, '/operator/backups')
  await inEnglish(me)
  await me.open('/operator/backups')
  await row.getByRole('button', { name: 'Delete' }).click()
  await dialogOf(page, 'Delete this backup?').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'No backup yet' }).waitFor()
  faults.push(...(await faultsOf(me, '/operator/backups')))
  assert.deepEqual(faults, [])
})

test(
  'a channel is added, its secret shown once, tested, changed, switched off and deleted',
  skip,
  async (t) => {
    const receiver = await openReceiver()
    const me = await operator(t, theHouse().url)
    const { page } = me
    await goTo(page, 'Notices')
    await page.getByRole('heading', { name: 'No channel yet' }).waitFor()
    await page.getByRole('button', { name: 'Add a channel' }).click()
    const add = dialogOf(page, 'Add a channel')
    await add.getByLabel('Kind').selectOption('webhook')
    await add.getByLabel('Name').fill('on-call')
    await add.getByLabel('Address of the webhook').fill(`${receiver.url}/hooks/secret-part-of-the-address`)
    await add.getByLabel('Incidents').check()
    await add.getByRole('button', { name: 'Add a channel' }).click()
    const secret = await add.locator('.secret code').textContent()
    assert.match(secret ?? '', /^whsec_/)
    await add.getByRole('button', { name: 'I have kept it' }).click()
    const row = rowOf(page, 'Channels', 'on-call')
    await row.getByRole('button', { name: 'Test' }).click()
    await row.getByText('Taken.', { exact: true }).waitFor()
    assert.equal(receiver.received.length, 1)
    assert.ok(receiver.received[0]?.headers['webhook-signature'])
    assert.equal((await page.content()).includes('secret-part-of-the-address'), false)

    receiver.answer = () => ({ status: 410 })
    await row.getByRole('button', { name: 'Test' }).click()
    await row.getByText('Not taken', { exact: true }).waitFor()
    await row.getByRole('button', { name: 'Edit' }).click()
    const edit = dialogOf(page, 'Change “on-call”')
    assert.equal(await edit.getByLabel('Address of the webhook').inputValue(), '')
    await edit.getByLabel('Backups that failed').check()
    await edit.getByRole('button', { name: 'Save' }).click()
    await row.getByText('Incidents, Backups that failed').waitFor()
    await row.getByRole('button', { name: 'Switch off' }).click()
    await row.getByText('switched off', { exact: true }).waitFor()
    const faults = await faultsOf(me, '/operator/notices')
    faults.push(...(await faultsOf(me, '/operator/notices?add=yes')))
    await inEnglish(me)
    await me.open('/operator/notices')
    await row.getByRole('button', { name: 'Delete' }).click()
    await dialogOf(page, 'Delete “on-call”?').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'No channel yet' }).waitFor()
    assert.deepEqual(faults, [])
  },
)

test(
  'an upstream gets a second credential, which is switched off and removed; no secret comes back',
  skip,
  async (t) => {
    const me = await operator(t, theHouse().url)
    const { page } = me
    await goTo(page, 'Upstreams')
    await page.getByRole('link', { name: upstream?.name ?? '', exact: true }).click()
    await page.getByRole('heading', { name: upstream?.name ?? '', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Add a credential' }).click()
    const add = dialogOf(page, `Add a credential to ${upstream?.name}`)
    await add.getByRole('textbox', { name: 'Credential' }).fill('sk-a-second-credential-of-9876')
    await add.getByLabel('Label').fill('Team B')
    await add.getByLabel('Weight').fill('3')
    await add.getByRole('button', { name: 'Add a credential' }).click()
    const row = rowOf(page, 'Credentials', 'Team B')
    await row.getByText('ends in 9876').waitFor()
    await row.getByText('in use', { exact: true }).waitFor()
    await row.getByRole('button', { name: 'Switch off' }).click()
    await dialogOf(page, 'Switch “Team B” off?').getByRole('button', { name: 'Switch off' }).click()
    await row.getByText('switched off', { exact: true }).waitFor()
    await row.getByRole('button', { name: 'Switch on' }).click()
    await row.getByText('in use', { exact: true }).waitFor()
    assert.equal((await page.content()).includes('sk-a-second'), false)
    const faults = await faultsOf(me, `/operator/upstreams/${upstream?.id}`)
    await inEnglish(me)
    await me.open(`/operator/upstreams/${upstream?.id}`)
    await row.getByRole('button', { name: 'Delete' }).click()
    await dialogOf(page, 'Delete “Team B”?').getByRole('button', { name: 'Delete' }).click()
    await row.waitFor({ state: 'detached' })
    assert.deepEqual(faults, [])
  },
)

test(
  'a part of a charge is given back from the request’s page and the rest from the account’s',
  skip,
  async (t) => {
    const me = await operator(t, theHouse().url)
    const { page } = me
    await me.open(`/operator/requests/${requestId}`)
    await rowOf(page, 'Bill', 'Input tokens').getByText('1,000', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Refund' }).click()
    const refund = dialogOf(page, 'Give back the cost of this request')
    await refund.getByLabel('Amount').fill('0.0002')
    await refund.getByLabel('Reason').fill('Slow answer')
    await refund.getByRole('button', { name: 'Give back' }).click()
    await page.locator('.tile').filter({ hasText: 'Given back' }).getByText('¥0.0002').waitFor()
    await page.locator('.tile').filter({ hasText: 'Margin' }).getByText('¥0.0009').waitFor()
    const faults = await faultsOf(me, `/operator/requests/${requestId}?refund=yes`)
    await inEnglish(me)

    await me.open(`/operator/accounts/${customer?.id}`)
    await rowOf(page, 'Entries', 'Charge').getByRole('link', { name: 'Refund' }).click()
    assert.equal(await refund.getByLabel('Amount').inputValue(), '0.002')
    await refund.getByLabel('Reason').fill('Goodwill')
    await refund.getByRole('button', { name: 'Give back' }).click()
    await rowOf(page, 'Entries', 'Goodwill').getByText('¥0.002', { exact: true }).waitFor()
    assert.equal(await customer?.balance(), '1')
    assert.deepEqual(faults, [])
  },
)

test('the dashboard shows where requests go, as a picture and as a table that leads on', skip, async (t) => {
  const me = await operator(t, theHouse().url)
  const { page } = me
  await me.open('/operator/dashboard')
  const picture = page.getByRole('figure', { name: 'Where requests go' })
  await picture.locator('text').filter({ hasText: 'broken-model' }).waitFor()
  await page
    .getByRole('region', { name: 'Where requests go' })
    .getByRole('button', { name: 'Show as a table' })
    .click()
  await rowOf(page, 'Where requests go', 'broken-model')
    .getByText('a-backup-with-a-rather-long-name-cn-hangzhou')
    .click()
  await page
    .getByRole('heading', { name: 'a-backup-with-a-rather-long-name-cn-hangzhou', level: 1 })
    .waitFor()
  assert.deepEqual(await faultsOf(me, '/operator/dashboard'), [])
})
