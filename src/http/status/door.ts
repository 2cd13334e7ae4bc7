/** The door of the public status: anybody may read, nobody may write, and a few seconds are the same for all. */
import { refuse } from '../../errors.ts'
import type { FetchDoor } from '../server/fetch-listener.ts'
import type { House } from '../house.ts'
import { publicAddressOf } from '../public-urls.ts'
import { statusJson, statusRss } from './feeds.ts'
import { statusPage } from './page.ts'
import { statusPathOf, type StatusPath } from './paths.ts'
import { StatusSnapshots, type PublicStatus } from './state.ts'
import { statusPolicy } from './style.ts'
import { languageOf, statusWords } from './locales.ts'

const common = {
  'cache-control': 'public, max-age=5',
  vary: 'accept-language',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

const types: Readonly<Record<StatusPath, string>> = {
  '/status': 'text/html; charset=utf-8',
  '/status.json': 'application/json; charset=utf-8',
  '/status.rss': 'application/rss+xml; charset=utf-8',
}

export function statusDoor(house: House): FetchDoor {
  const snapshots = new StatusSnapshots(house)

  function bodyOf(path: StatusPath, status: PublicStatus, language: ReturnType<typeof languageOf>): string {
    if (path === '/status') return statusPage(status, language)
    const words = statusWords[language]
    if (path === '/status.json') return JSON.stringify(statusJson(status, words))
    return statusRss(status, words, `${publicAddressOf(house.config)}/status`)
  }

  return async ({ url, method, headers }) => {
    const { pathname, searchParams } = new URL(url)
    const path = statusPathOf(pathname)
    if (path === undefined) throw refuse('not_found')
    if (method !== 'GET' && method !== 'HEAD') {
      const refusal = refuse('method_not_allowed', { message: 'Use GET here.' })
      return Response.json(refusal.toBody(), { status: refusal.status, headers: { allow: 'GET, HEAD' } })
    }
    const language = languageOf(searchParams.get('lang'), headers.get('accept-language'))
    const body = bodyOf(path, await snapshots.get(Date.now()), language)
    // Monitors and other pages may read it from anywhere: there is nothing in it that is not for everybody.
    const own =
      path === '/status'
        ? { 'content-security-policy': statusPolicy, 'content-language': language }
        : { 'access-control-allow-origin': '*' }
    const sent = { ...common, ...own, 'content-type': types[path] }
    return new Response(method === 'HEAD' ? null : body, { headers: sent })
  }
}
