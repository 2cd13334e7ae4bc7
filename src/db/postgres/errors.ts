/** What PostgreSQL's errors mean for whoever wrote: the classes of store-error.ts. */

import { StoreError } from '../store-error.ts'
import type { StoreErrorClass, StoreFailure } from '../messages.ts'
import { errorCode, errorWords } from '../../lib/error-message.ts'

/** SQLSTATE is five letters or digits; errors of the network and of our own carry other codes, or none. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = errorCode(error)
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** The database is leaving, or has lost us: whether it has done what it was told last is not known. */
export function isCutOff(error: unknown): boolean {
  const state = sqlStateOf(error)
  return state === undefined || state.startsWith('08') || state.startsWith('57P')
}

/** What is there is not what we may work with, and stays so. */
export class WrongServer extends Error {}

/** Codes of Node for a way that is closed to us for good: certificates, and what the address says about TLS. */
const wrongWay = /^(?:CERT_|DEPTH_ZERO|ERR_(?:OSSL|SSL|TLS)|HOSTNAME_|INVALID_CA|SELF_SIGNED|UNABLE_TO_)/
/** SQLSTATE of a server that takes no further connections for now. */
const tooMany = '53300'
/** SQLSTATE of a pooler that does not pass on what a connection asks for. */
const protocolViolation = '08P01'

/** Whether time alone may mend it: the database is away, starts, or is full. */
export function mayPass(error: unknown): boolean {
  const state = sqlStateOf(error)
  if (state === tooMany) return true
  if (state === protocolViolation || error instanceof WrongServer) return false
  if (!isCutOff(error) || !(error instanceof Error)) return false
  // A file that the address names is read at each connection.
  const isFile = 'syscall' in error && error.syscall === 'open'
  const isWrong = wrongWay.test(errorCode(error) ?? '')
  return !isFile && !isWrong && !error.message.includes('does not support SSL')
}

function classOf(state: string | undefined): StoreErrorClass {
  if (state?.startsWith('23')) return 'conflict'
  if (state?.startsWith('22') || state?.startsWith('42')) return 'invalid'
  return 'full'
}

function field(error: unknown, name: string): string {
  const fields = new Map<string, unknown>(error instanceof Error ? Object.entries(error) : [])
  const value = fields.get(name)
  return typeof value === 'string' ? value : ''
}

/** The broken constraint as SQLite names it, so that callers need to know only one way. */
function constraintOf(error: unknown, state: string): string {
  if (state === '23503') return 'FOREIGN KEY constraint failed'
  const column = /^Key \("?(\w+)/.exec(field(error, 'detail'))?.[1] ?? field(error, 'column')
  return column === '' ? field(error, 'constraint') : `${field(error, 'table')}.${column}`
}

export function postgresFailure(error: unknown, statement?: number): StoreFailure {
  if (error instanceof StoreError) {
    return { class: error.class, message: error.message, constraint: error.constraint, statement }
  }
  const message = errorWords(error)
  const state = sqlStateOf(error)
  const kind = error instanceof TypeError ? 'invalid' : classOf(state)
  if (kind !== 'conflict' || state === undefined) return { class: kind, message, statement }
  return { class: kind, message, constraint: constraintOf(error, state), statement }
}
