/**
 * Passwords: argon2id, two at a time and off the event loop, so that many sign-ins at once take neither the
 * memory nor the event loop of a busy relay. An unknown user takes the same time as a wrong password.
 */

import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { apiError, type ApiError } from '../errors.ts'

/** OWASP's first recommendation: 46 MiB, one pass, parallelism 1. */
const argon2Parameters = { memory: 47_104, passes: 1, parallelism: 1 } as const
const saltBytes = 16
const hashBytes = 32
const maxConcurrent = 2
const maxQueued = 200

const minLength = 10
const maxLength = 256

/** The most common passwords that would otherwise be long enough. */
const commonPasswords = new Set(
  `1234567890 0123456789 12345678910 123456789a a123456789 1q2w3e4r5t 1qaz2wsx3edc qwertyuiop qwerty12345 qwerty123456
  1234qwerasdf q1w2e3r4t5 zaq12wsxcde password12 password123 password1234 password12345 passw0rd123 p@ssw0rd123
  p@ssword123 administrator admin12345 admin123456 iloveyou123 letmein123 welcome123 welcome1234 changeme123 football123
  baseball123 superman123 princess123 sunshine123 0987654321 9876543210 1111111111 0000000000 aaaaaaaaaa 1122334455
  abcdefghij abcd123456 abc1234567 asdfghjkl1 asdfasdfasdf zxcvbnm123 5201314520 woaini1314 woaini520 qwer123456
  a1234567890 1234567891 12345qwert 123456789q trustno1trustno1 correcthorsebatterystaple`.split(/\s+/),
)

function rejected(message: string): ApiError {
  return apiError('password_refused', { param: 'password', message })
}

/** Throws 400 for a password that is short, common, or derived from the user's own e-mail address. */
export function checkNewPassword(password: string, email: string): void {
  const { length } = password
  if (length < minLength) throw rejected(`The password must have at least ${minLength} characters.`)
  if (length > maxLength) throw rejected(`The password must have at most ${maxLength} characters.`)
  const lowerCase = password.toLowerCase()
  const local = email.slice(0, email.lastIndexOf('@')).toLowerCase()
  const isOwn =
    lowerCase === email.toLowerCase() || (local.length > 3 && lowerCase.replaceAll(/[\d\W_]/g, '') === local)
  if (commonPasswords.has(lowerCase) || isOwn || new Set(lowerCase).size < 4) {
    throw rejected('This password is too easy to guess. Choose another one.')
  }
}

let running = 0
const queue: (() => void)[] = []

async function withConcurrencyLimit<Result>(work: () => Promise<Result>): Promise<Result> {
  if (running >= maxConcurrent) {
    if (queue.length >= maxQueued) throw apiError('service_unavailable')
    await new Promise<void>((resolve) => queue.push(resolve))
  } else running += 1
  try {
    return await work()
  } finally {
    const release = queue.shift()
    if (release === undefined) running -= 1
    else release()
  }
}

function deriveKey(
  password: string,
  nonce: Uint8Array,
  parameters: typeof argon2Parameters,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const message = password.normalize('NFKC')
  argon2('argon2id', { message, nonce, tagLength: hashBytes, ...parameters }, (error, key) => {
    if (error === null) resolve(key)
    else reject(error)
  })
  return promise
}

function unpaddedBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replaceAll('=', '')
}

/** The hash to store, in the PHC string format. */
export function hashPassword(password: string): Promise<string> {
  return withConcurrencyLimit(async () => {
    const salt = randomBytes(saltBytes)
    const key = await deriveKey(password, salt, argon2Parameters)
    const { memory, passes, parallelism } = argon2Parameters
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpaddedBase64(salt)}$${unpaddedBase64(key)}`
  })
}

const phcPattern = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/
/** Matches no password. */
const dummyHash = `$argon2id$v=19$m=47104,t=1,p=1$${unpaddedBase64(new Uint8Array(saltBytes))}$${unpaddedBase64(new Uint8Array(hashBytes))}`

/** Whether the password matches the stored hash. `null` never matches, but takes the same time. */
export function verifyPassword(password: string, storedHash: string | null): Promise<boolean> {
  return withConcurrencyLimit(async () => {
    const match = phcPattern.exec(storedHash ?? dummyHash)
    if (match === null) throw new Error('A stored password hash has an unknown format.')
    const [memory, passes, parallelism] = [Number(match[1]), Number(match[2]), Number(match[3])]
    const salt = Buffer.from(match[4] ?? '', 'base64')
    const expected = Buffer.from(match[5] ?? '', 'base64')
    const parameters = { memory, passes, parallelism } as typeof argon2Parameters
    const key = await deriveKey(password.length > maxLength ? '' : password, salt, parameters)
    return timingSafeEqual(key, expected) && storedHash !== null
  })
}
