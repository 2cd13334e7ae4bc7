// @drives a browser
/**
 * A picture of every page and dialog of the console, in both languages and themes, on desktop and phone. They are saved
 * in PICTURES=folder, otherwise in a temporary folder; somebody has to look at them.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { before, describe, test } from 'node:test'
import { Account, chatRequest } from '../support/server/account.ts'
import type { TestServer } from '../support/server/test-server.ts'
import {
  browserSkipReason,
  openBrowser,
  sharedBrowserServer,
  type BrowserSession,
} from '../support/console/browser.ts'
import { customerPages, operatorPages, pathsOf } from '../support/console/console-pages.ts'
import { signUpCustomer, validPassword } from '../support/console/console-session.ts'
import { openAsOperator, signIn } from '../support/console/console-steps.ts'
import { setView } from '../support/console/page-checks.ts'
import { respondWith, respondWithError } from '../support/upstream/scripted-responses.ts'

const folder = process.env['PICTURES'] ?? mkdtempSync(`${tmpdir()}/sluice-pictures-`)
const testServer = await sharedBrowserServer()
const email = 'mara@pixel-forge.example'
const model = 'deepseek-chat'
const ids = { account: '', upstream: '', model, requests: [''] }

async function addCatalog(relay: TestServer): Promise<void> {
  const deepseek = await relay.upstream(respondWith('Of course.', { input: 12_400, output: 860 }), {
    name: 'deepseek',
  })
  const qwen = await relay.upstream(respondWith('Certainly.', { input: 3_100, output: 2_250 }), {
    name: 'qwen-hangzhou',
  })
  const own = await relay.upstream(respondWithError(503), { name: 'own-gpus' })
  await relay.model(model, { upstreams: [deepseek, qwen], prices: ['0.002', '0.003'] })
  await relay.model('qwen3-max', { upstreams: [qwen, own], prices: ['0.006', '0.024'] })
  await relay.model('llama-4-70b-instruct', { upstreams: [own], prices: ['0.0008', '0.0016'] })
  ids.upstream = own.id
}

async function addTraffic(relay: TestServer): Promise<void> {
  await signUpCustomer(relay, email)
  const found = await relay.admin<{ data: { id: string }[] }>('GET', `/accounts?email=${email}`)
  const mara = new Account(relay, found.data[0]?.id ?? '')
  await mara.credit('530.27702591')
  await mara.change({ name: 'Pixel Forge', caps: { daily: '60', monthly: '500' } })
  await mara.newKey({ name: 'game-npc', caps: { daily: '5', total: '100' } })
  await mara.newKey({ name: 'website', models: [model] })
  const others = await Promise.all(
    ['Harbour Books', '北极星科技', 'Atelier Nord'].map((name) => relay.account({ name, balance: '88.5' })),
  )
  for (const account of [mara, ...others, mara, mara]) {
    for (const id of [model, 'qwen3-max', model, 'llama-4-70b-instruct', 'no-such-model']) {
      const response = await account.post({ ...chatRequest(id), max_tokens: 4000 })
      await response.text()
    }
  }
  await relay.assertNoOpenHolds()
  ids.account = mara.id
  const answered = (await mara.requests({ model }))[0]?.request_id ?? ''
  const failed = (await mara.requests({ model: 'llama-4-70b-instruct' }))[0]?.request_id ?? ''
  ids.requests = [answered, failed]
}

async function addRest(relay: TestServer): Promise<void> {
  await relay.admin('POST', '/vouchers', { amount: '50', count: 3 })
  await relay.admin('POST', '/promotions', { name: 'Welcome', amount: '5', code: 'HELLO' })
  await relay.admin('POST', '/incidents', {
    title: 'Slow responses',
    models: [model],
    message: 'We are looking.',
  })
  await relay.admin('POST', '/announcements', {
    title: { en: 'Maintenance on Sunday', 'zh-CN': '周日维护' },
    text: { en: 'From 02:00 to 03:00.', 'zh-CN': '02:00 至 03:00。' },
  })
  await relay.admin('POST', '/invites', { note: 'For the trade fair', uses: 3 })
}

before(async () => {
  if (browserSkipReason !== false) return
  const server = testServer()
  mkdirSync(folder, { recursive: true })
  await addCatalog(server)
  await addTraffic(server)
  await addRest(server)
})

/** Saves eight pictures of each page. */
async function savePictures(browser: BrowserSession, paths: readonly string[]): Promise<void> {
  for (const [index, path] of paths.entries()) {
    await browser.navigate(path)
    const name = path
      .replaceAll(/(req|acc|ups)_\w+/g, '$1')
      .replaceAll(/[^\w-]+/g, '-')
      .replace(/^-/, '')
    for (const language of ['en', 'zh-CN'] as const) {
      for (const scheme of ['light', 'dark'] as const) {
        for (const width of [1440, 390]) {
          await setView(browser, { scheme, language, width })
          const number = String(index + 1).padStart(2, '0')
          const file = `${number}-${name}-${language}-${scheme}-${width}.png`
          await browser.page.screenshot({ path: `${folder}/${file}`, fullPage: true })
        }
      }
    }
    await setView(browser, { scheme: 'light', language: 'en', width: 1440 })
  }
}

function countPictures(): number {
  return readdirSync(folder).filter((file) => file.endsWith('.png')).length
}

describe('Pictures of the console', () => {
  test('Customer pages – eight pictures of each', { skip: browserSkipReason }, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    await signIn(browser, email, validPassword)
    const [before, paths] = [countPictures(), pathsOf(customerPages, ids)]
    await savePictures(browser, paths)
    assert.equal(countPictures() - before, 8 * paths.length)
  })

  test('Operator pages – eight pictures of each', { skip: browserSkipReason }, async (t) => {
    const browser = await openAsOperator(t, testServer())
    const [before, paths] = [countPictures(), pathsOf(operatorPages, ids)]
    await savePictures(browser, paths)
    assert.equal(countPictures() - before, 8 * paths.length)
  })
})
