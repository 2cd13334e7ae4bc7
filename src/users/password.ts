/**
 * Passwords: argon2id, two at a time and off the event loop, so that a crowd at the door takes neither the memory nor
 * the loop of a relay at work. An unknown person costs the same time as a wrong password.
 */

import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { refuse, type Refusal } from '../errors.ts'

/** OWASP's first recommendation: 46 MiB, one pass, one lane. */
const cost = { memory: 47_104, passes: 1, parallelism: 1 } as const
const saltBytes = 16
const hashBytes = 32
const atOnceMost = 2
const waitingMost = 200

const shortest = 10
const longest = 256

/** Those of the most used passwords that are long enough to pass otherwise. */
const wellKnown = new Set(
  `1234567890 0123456789 12345678910 123456789a a123456789 1q2w3e4r5t 1qaz2wsx3edc qwertyuiop qwerty12345 qwerty123456
  1234qwerasdf q1w2e3r4t5 zaq12wsxcde password12 password123 password1234 password12345 passw0rd123 p@ssw0rd123
  p@ssword123 administrator admin12345 admin123456 iloveyou123 letmein123 welcome123 welcome1234 changeme123 football123
  baseball123 superman123 princess123 sunshine123 0987654321 9876543210 1111111111 0000000000 aaaaaaaaaa 1122334455
  abcdefghij abcd123456 abc1234567 asdfghjkl1 asdfasdfasdf zxcvbnm123 5201314520 woaini1314 woaini520 qwer123456
  a1234567890 1234567891 12345qwert 123456789q trustno1trustno1 correcthorsebatterystaple`.split(/\s+/),
)

function refused(message: string): Refusal {
  return refuse('password_refused', { param: 'password', message })
}

/** Throws 400 for a password that is short, well known, or made of the person's own address. */
export function checkNewPassword(password: string, email: string): void {
  const { length } = password
  if (length < shortest) throw refused(`A password has at least ${shortest} characters.`)
  if (length > longest) throw refused(`A password has at most ${longest} characters.`)
  const small = password.toLowerCase()
  const local = email.slice(0, email.lastIndexOf('@')).toLowerCase()
  const isOwn =
    small === email.toLowerCase() || (local.length > 3 && small.replaceAll(/[\d\W_]/g, '') === local)
  if (wellKnown.has(small) || isOwn || new Set(small).size < 4) {
    throw refused('This password is easy to guess. Choose another one.')
  }
}

let running = 0
const waiting: (() => void)[] = []

async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  if (running >= atOnceMost) {
    if (waiting.length >= waitingMost) throw refuse('service_unavailable')
    await new Promise<void>((resolve) => waiting.push(resolve))
  } else running += 1
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next()
  }
}

function derived(password: string, nonce: Uint8Array, parameters: typeof cost): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const message = password.normalize('NFKC')
  argon2('argon2id', { message, nonce, tagLength: hashBytes, ...parameters }, (error, key) => {
    if (error === null) resolve(key)
    else reject(error)
  })
  return promise
}

function plainBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replaceAll('=', '')
}

/** The text that is kept, in the PHC string format. */
export function hashOfPassword(password: string): Promise<string> {
  return inTurn(async () => {
    const salt = randomBytes(saltBytes)
    const key = await derived(password, salt, cost)
    const { memory, passes, parallelism } = cost
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${plainBase64(salt)}$${plainBase64(key)}`
  })
}

const phc = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/
/** Belongs to nobody. */
const nobodys = `$argon2id$v=19$m=47104,t=1,p=1$${plainBase64(new Uint8Array(saltBytes))}$${plainBase64(new Uint8Array(hashBytes))}`

/** Whether the password is the one that was kept; `null`: there is none, which takes as long to say. */
export function isPassword(password: string, kept: string | null): Promise<boolean> {
  return inTurn(async () => {
    const match = phc.exec(kept ?? nobodys)
    if (match === null) throw new Error('A kept password is not in the form that we write.')
    const [memory, passes, parallelism] = [Number(match[1]), Number(match[2]), Number(match[3])]
    const salt = Buffer.from(match[4] ?? '', 'base64')
    const expected = Buffer.from(match[5] ?? '', 'base64')
    const parameters = { memory, passes, parallelism } as typeof cost
    const key = await derived(password.length > longest ? '' : password, salt, parameters)
    return timingSafeEqual(key, expected) && kept !== null
  })
}
