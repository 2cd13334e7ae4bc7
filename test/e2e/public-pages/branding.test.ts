// @backend both (cluster in long runs)
/** The branding: what the admin API accepts, and where everybody sees it without signing in. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createJpeg, createPng, createWebp } from '../../../src/lib/image-files.fixture.ts'
import { sharedTestServer, startTestServer } from '../../support/server/test-server.ts'
import { startMailServer } from '../../support/sinks/mail-server.ts'
import { ConsoleSession, validPassword } from '../../support/console/console-session.ts'
import { signUpEndpoints } from '../../../src/http/console/auth/sign-up.ts'
import { expectError, expectResponse } from '../../support/client/admin-api.ts'

interface Branding {
  readonly name: string | null
  readonly logo: { url: string; media_type: string; width: number; height: number; bytes: number } | null
  readonly [field: string]: unknown
}

const server = await sharedTestServer({ env: { PUBLIC_PRICES: '1' } })
const base64 = (bytes: Buffer): string => bytes.toString('base64')
const png = createPng({ width: 64, height: 32 })
const colors = { light: '#0b6a84', dark: '#52c5dc' }
const empty = { name: null, logo: null, colors: null, links: null, terms: null, privacy: null, support: null }
const nothing = { ...empty, links: [] }

const put = (body: object): Promise<Branding> =>
  expectResponse<Branding>(server, 200, ['PUT', '/branding', body])
const read = (): Promise<Branding> => server.admin<Branding>('GET', '/branding')
const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${server.url}${path}`, { headers, redirect: 'manual' })
const text = async (path: string): Promise<string> => (await get(path)).text()
/** The field and the message of a rejected change. */
async function rejection(body: object): Promise<[unknown, string]> {
  const response = await server.relay.adminResponse('PUT', '/branding', body)
  const { error } = (await response.json()) as { error: { param: string; message: string } }
  assert.equal(response.status, 400, JSON.stringify(body).slice(0, 200))
  return [error.param, error.message]
}

describe('Branding', () => {
  test('fields – stay when they are omitted, go with null, and survive a restart', async () => {
    assert.deepEqual(await read(), nothing)
    const links = [{ label: 'Docs', url: 'https://docs.example/' }]
    const support = { contact: 'help@acme.example', text: 'Weekdays, 9 to 18.' }
    await put({ name: ' Acme AI ', logo: base64(png), colors, links, support })
    const changed = await put({ terms: 'Be kind.\r\nPay.', privacy: 'https://acme.example/privacy' })
    assert.equal(changed.name, 'Acme AI')
    assert.deepEqual(changed['terms'], 'Be kind.\nPay.')
    await server.restart()
    assert.deepEqual(await read(), changed)
    assert.deepEqual(changed.logo && { ...changed.logo, url: '' }, {
      url: '',
      media_type: 'image/png',
      width: 64,
      height: 32,
      bytes: png.length,
    })
    assert.deepEqual(await put(empty), nothing)
  })

  test('audit log – names what changed, without the content of the logo and the texts', async () => {
    await put({ name: 'Acme AI', logo: base64(png), terms: 'A secret draft of our terms' })
    await put({ name: 'Acme AI' })
    const path = '/audit?object=branding&limit=1'
    const { data } = await server.admin<{ data: { action: string; detail: object }[] }>('GET', path)
    const [record] = data
    assert.equal(record?.action, 'branding.update')
    assert.deepEqual(Object.keys(record.detail).toSorted(), ['logo', 'name', 'terms'], 'not the second call')
    assert.doesNotMatch(JSON.stringify(record), /secret draft|iVBOR/)
    await put(empty)
  })

  test('logo – is served under a URL with its hash, with its type, for a year', async () => {
    const images = [
      ['image/png', png],
      ['image/jpeg', createJpeg(64, 32)],
      ['image/webp', createWebp('VP8L', 64, 32)],
    ] as const
    for (const [mediaType, bytes] of images) {
      const { logo } = await put({ logo: base64(bytes) })
      const response = await get(logo?.url ?? '')
      assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytes)
      assert.equal(response.headers.get('content-type'), mediaType)
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
      assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'; sandbox/)
      assert.match(response.headers.get('cache-control') ?? '', /max-age=31536000, immutable/)
      const etag = response.headers.get('etag') ?? ''
      const stable = await get('/branding/logo', { 'if-none-match': etag })
      assert.deepEqual([stable.status, stable.headers.get('cache-control')], [304, 'public, no-cache'])
    }
    await put({ logo: null })
    assert.equal((await get('/branding/logo')).status, 404)
  })

  test('branding – is accepted as it is returned, and then stays', async () => {
    const present = await put({ name: 'Acme AI', logo: base64(png) })
    assert.deepEqual(await put({ ...present }), present)
    const other = { ...present.logo, bytes: 1 }
    assert.equal((await rejection({ logo: other }))[0], 'logo')
    assert.deepEqual(await read(), present)
  })

  test('bad logos – are rejected with the reason, and the earlier one stays', async () => {
    const { logo } = await put({ logo: base64(png) })
    const lying = createPng({ width: 2000, height: 10 })
    lying.writeUInt32BE(10, 16)
    const bad: readonly [string, RegExp][] = [
      [base64(createPng({ width: 1025, height: 1 })), /at most 1024 pixels on each side, and has 1025 × 1/],
      [base64(createJpeg(10, 60_000)), /has 10 × 60000/],
      [base64(createPng({ width: 0, height: 4 })), /has 0 × 4/],
      [base64(createPng({ commentBytes: 256 * 1024 })), /at most 256 KiB/],
      [base64(lying), /complete PNG, JPEG or WebP image/],
      [base64(png.subarray(0, -20)), /complete PNG, JPEG or WebP image/],
      [base64(Buffer.concat([png, Buffer.from('<script>alert(1)</script>')])), /complete PNG/],
      [base64(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')), /complete PNG/],
      ['data:image/png;base64,AAAA', /base64/],
      ['', /complete PNG/],
    ]
    for (const [data, message] of bad) {
      const [param, reason] = await rejection({ logo: data })
      assert.equal(param, 'logo')
      assert.match(reason, message)
    }
    assert.deepEqual((await read()).logo, logo)
    await put(empty)
  })

  test('invalid fields – are rejected with their name, and nothing is written', async () => {
    const link = { label: 'Docs', url: 'https://docs.example' }
    const support = { contact: 'help@acme.example' }
    const bad: readonly [object, string][] = [
      [{ name: 'a'.repeat(61) }, 'name'],
      [{ name: ' ' }, 'name'],
      [{ name: 'Acme\nBcc: x@y.example' }, 'name'],
      [{ name: 'Acme \u202Egnp.exe' }, 'name'],
      [{ colors: { light: '#ffcc00', dark: '#52c5dc' } }, 'colors.light'],
      [{ colors: { light: '#0b6a84', dark: '#222222' } }, 'colors.dark'],
      [{ links: Array.from({ length: 11 }, () => link) }, 'links'],
      [{ links: [{ ...link, url: 'javascript:alert(1)' }] }, 'links[0].url'],
      [{ links: [link, { ...link, url: 'http://docs.example' }] }, 'links[1].url'],
      [{ links: [{ ...link, url: 'https://user:secret@docs.example' }] }, 'links[0].url'],
      [{ links: [{ ...link, label: '' }] }, 'links[0].label'],
      [{ terms: 'http://acme.example/terms' }, 'terms'],
      [{ privacy: 'javascript:alert(1)' }, 'privacy'],
      [{ terms: 'é'.repeat(32 * 1024 + 1) }, 'terms'],
      [{ terms: '\u0000' }, 'terms'],
      [{ support: { contact: 'not an address' } }, 'support.contact'],
      [{ support: { contact: 'javascript:alert(1)@x' } }, 'support.contact'],
      [{ support: { ...support, text: 'a'.repeat(301) } }, 'support.text'],
      [{ color: '#000000' }, 'color'],
    ]
    for (const [body, param] of bad)
      assert.equal(
        (await rejection({ name: 'Valid', ...body }))[0],
        param,
        JSON.stringify(body).slice(0, 200),
      )
    const [, message] = await rejection({ colors: { light: '#767676', dark: '#52c5dc' } })
    assert.match(message, /contrast of at least 4\.5 .*, and has 4\.08/)
    assert.deepEqual(await read(), nothing)
    assert.equal(await expectError(server, 400, ['PUT', '/branding', { unknown: 1 }]), 'unknown')
  })

  test('terms and privacy – are escaped public pages in both languages, or the links', async () => {
    await put({ name: 'Acme AI', terms: 'First line\n</main><script>alert(1)</script>', privacy: 'Nothing.' })
    const page = await get('/terms')
    const html = await page.text()
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    assert.match(html, /First line\n&lt;\/main&gt;&lt;script&gt;alert\(1\)/)
    assert.match(html, /<html lang="en">.*<title>Terms of service – Acme AI<\/title>/s)
    assert.match(await text('/privacy?lang=zh-CN'), /<html lang="zh-CN">.*<h1>隐私政策<\/h1>/s)
    await put({ terms: 'https://acme.example/terms?a=1&b="2"', privacy: null })
    for (const path of ['/terms', '/privacy']) assert.equal((await get(path)).status, 404, path)
    assert.match(
      await text('/pricing'),
      /<a href="https:\/\/acme\.example\/terms\?a=1&amp;b=%222%22">Terms of service/,
    )
    await put(empty)
  })

  test('public pages – show name, logo, colours, links and support at once, and escape them', async () => {
    const evil = '"><img src=x onerror=alert(1)>'
    const pages = ['/status', '/pricing', '/terms']
    assert.doesNotMatch(await text('/status'), /brand"|colors\.css/)
    const { logo } = await put({
      name: evil,
      logo: base64(png),
      colors,
      links: [{ label: evil, url: 'https://x.example/?q="><script>' }],
      terms: evil,
      support: { contact: 'https://help.example/', text: evil },
    })
    for (const path of pages) {
      const html = await text(path)
      assert.doesNotMatch(html, /<img src=x|<script>|onerror=alert\(1\)>/, path)
      assert.ok(html.includes('&quot;&gt;&lt;img src=x'), path)
      assert.ok(html.includes(`<img src="${logo?.url}" width="64" height="32" alt="">`), path)
      assert.ok(html.includes('<a href="https://x.example/?q=%22%3E%3Cscript%3E">'), path)
      assert.ok(html.includes('Support: <a href="https://help.example/">https://help.example/</a>'), path)
      const sheet = await get(/href="(\/branding\/colors\.css\?v=[\w-]+)"/.exec(html)?.[1] ?? '')
      assert.match(sheet.headers.get('cache-control') ?? '', /immutable/)
      assert.match(await sheet.text(), /^:root\{--brand-light:#0b6a84;/)
    }
    await put(empty)
    for (const path of pages.slice(0, 2)) assert.doesNotMatch(await text(path), /brand"|x\.example/, path)
    const sheet = await get('/branding/colors.css')
    assert.deepEqual([sheet.status, await sheet.text()], [200, ''])
    assert.equal(sheet.headers.get('content-type'), 'text/css; charset=utf-8')
  })

  test('session of the console – has what its pages show', async () => {
    await put({ name: 'Acme AI', terms: 'Be kind.', support: { contact: 'a+b@acme.example', text: ' ' } })
    const { branding } = (await new ConsoleSession(server.url).session()).platform
    assert.deepEqual(branding, {
      name: 'Acme AI',
      logo: null,
      links: [],
      terms: '/terms',
      privacy: null,
      support: { contact: 'a+b@acme.example', url: 'mailto:a%2Bb@acme.example', text: null },
    })
    await put(empty)
  })

  test('e-mails – have the name in the subject and the support contact below', async (t) => {
    const mail = await startMailServer(t)
    const own = await startTestServer(t, { env: { SMTP_URL: mail.url } })
    const support = { contact: 'help@acme.example', text: 'We answer within a day.' }
    await own.admin('PUT', '/branding', { name: 'Acme AI', support })
    const signUp = (email: string, language: 'en' | 'zh-CN'): Promise<unknown> =>
      new ConsoleSession(own.url).call(signUpEndpoints.signUp, {
        body: { email, password: validPassword, language },
      })
    await signUp('ann@example.com', 'en')
    const english = await mail.next()
    assert.match(english, /^Subject: \[Acme AI\] Confirm your e-mail address\r$/m)
    assert.match(english, /\r\n--=20\r\nAcme AI\r\nSupport: help@acme\.example\r\nWe answer within a day\./)
    await signUp('bo@example.com', 'zh-CN')
    const [head = ''] = (await mail.next()).split('\r\n\r\n')
    const [, subject = ''] = head.replaceAll('\r\n ', ' ').split('Subject: ')
    const words = Array.from(subject.matchAll(/=\?UTF-8\?([BQ])\?([^?]*)\?=/g), ([, kind, word = '']) =>
      kind === 'B'
        ? Buffer.from(word, 'base64').toString()
        : decodeURIComponent(word.replaceAll('_', ' ').replaceAll('=', '%')),
    )
    assert.equal(words.join(''), '【Acme AI】请确认您的邮箱地址')
    const channel = { name: 'ops', kind: 'email', address: 'ops@example.com', notices: ['availability'] }
    const { id } = await own.admin<{ id: string }>('POST', '/channels', channel)
    await own.admin('POST', `/channels/${id}/test`)
    assert.match(await mail.next(), /^Subject: \[Acme AI\] Test message\r$/m)
  })
})
