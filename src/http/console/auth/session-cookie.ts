/**
 * The cookie with the session token: not readable by scripts and not sent by other sites. Over https its name starts
 * with `__Host-`, so that neither another host of the domain nor a plain connection can set it.
 */
import type { Config } from '../../../config.ts'
import { isHttps } from '../../public-urls.ts'

function getCookieName(config: Config): string {
  return isHttps(config) ? '__Host-sluice' : 'sluice'
}

/** Reads the token from a `Cookie` header. */
export function readSessionToken(config: Config, cookies: string | undefined): string | undefined {
  const prefix = `${getCookieName(config)}=`
  const cookie = cookies?.split(/; */).find((each) => each.startsWith(prefix))
  return cookie?.slice(prefix.length)
}

/** The `Set-Cookie` header for a token. It expires with the session, whose end the server checks itself. */
export function buildSessionCookie(config: Config, token: string, expiresAt: number): string {
  const secure = isHttps(config) ? '; Secure' : ''
  const expires = new Date(expiresAt).toUTCString()
  return `${getCookieName(config)}=${token}; Path=/; HttpOnly; SameSite=Strict${secure}; Expires=${expires}`
}

/** The `Set-Cookie` header that removes the cookie. */
export function buildExpiredSessionCookie(config: Config): string {
  const secure = isHttps(config) ? '; Secure' : ''
  return `${getCookieName(config)}=; Path=/; HttpOnly; SameSite=Strict${secure}; Max-Age=0`
}
