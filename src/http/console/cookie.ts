/**
 * The cookie that carries a session's token: for scripts not to be read, by other sites not to be sent. Over https its
 * name begins with `__Host-`, so that no other host of the domain and no plain connection can set it.
 */
import type { Config } from '../../config.ts'

function isSecure(config: Config): boolean {
  return config.publicUrl?.startsWith('https:') ?? false
}

function nameOf(config: Config): string {
  return isSecure(config) ? '__Host-sluice' : 'sluice'
}

/** The token in a `Cookie` header. */
export function tokenIn(config: Config, cookies: string | undefined): string | undefined {
  const beginning = `${nameOf(config)}=`
  const found = cookies?.split(/; */).find((each) => each.startsWith(beginning))
  return found?.slice(beginning.length)
}

/** A `Set-Cookie` header that gives a token; until the session's absolute end, which the server knows better. */
export function cookieFor(config: Config, token: string, expiresAt: number): string {
  const secure = isSecure(config) ? '; Secure' : ''
  const expires = new Date(expiresAt).toUTCString()
  return `${nameOf(config)}=${token}; Path=/; HttpOnly; SameSite=Strict${secure}; Expires=${expires}`
}

/** A `Set-Cookie` header that takes it back. */
export function noCookie(config: Config): string {
  const secure = isSecure(config) ? '; Secure' : ''
  return `${nameOf(config)}=; Path=/; HttpOnly; SameSite=Strict${secure}; Max-Age=0`
}
