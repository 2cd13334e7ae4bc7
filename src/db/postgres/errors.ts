/** Classifies PostgreSQL errors as in store-error.ts. */

import { StoreError } from '../store-error.ts'
import type { StoreErrorClass, StoreFailure } from '../store-error.ts'
import { errorCode, errorMessage } from '../../lib/error-message.ts'

/** Returns the SQLSTATE, five letters or digits; network errors and our own have other codes, or none. */
export function sqlState(error: unknown): string | undefined {
  const code = errorCode(error)
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** Whether the connection was lost or the server is shutting down, so that the result of the last statement is unknown. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error)
  return state === undefined || state.startsWith('08') || state.startsWith('57P')
}

/** The server cannot be used, permanently. */
export class UnusableServerError extends Error {}

/** Node's codes of permanent connection errors: certificates, and the TLS options of the URL. */
const permanentConnectionErrors =
  /^(?:CERT_|DEPTH_ZERO|ERR_(?:OSSL|SSL|TLS)|HOSTNAME_|INVALID_CA|SELF_SIGNED|UNABLE_TO_)/
/** SQLSTATE of a server that accepts no more connections at the moment. */
const tooManyConnections = '53300'
/** SQLSTATE of a pooler that rejects connection parameters. */
const protocolViolation = '08P01'

/** Whether the error may resolve by itself: the database is unavailable, starting, or full. */
export function isTransient(error: unknown): boolean {
  const state = sqlState(error)
  if (state === tooManyConnections) return true
  if (state === protocolViolation || error instanceof UnusableServerError) return false
  if (!isConnectionLost(error) || !(error instanceof Error)) return false
  // A file named in the URL is read at each connection.
  const isFile = 'syscall' in error && error.syscall === 'open'
  const isWrong = permanentConnectionErrors.test(errorCode(error) ?? '')
  return !isFile && !isWrong && !error.message.includes('does not support SSL')
}

function classifySqlState(state: string | undefined): StoreErrorClass {
  if (state?.startsWith('23')) return 'conflict'
  if (state?.startsWith('22') || state?.startsWith('42')) return 'invalid'
  return 'full'
}

const connectionsAdvice =
  'Raise max_connections in PostgreSQL, or run fewer nodes or workers; docs/capacity.md says how many connections a node needs.'

/** The error's message, with advice where PostgreSQL's own does not say what to do. */
export function postgresErrorMessage(error: unknown): string {
  const message = errorMessage(error)
  const isComplete = sqlState(error) !== tooManyConnections || message.includes(connectionsAdvice)
  return isComplete ? message : `${message}. ${connectionsAdvice}`
}

function field(error: unknown, name: string): string {
  const fields = new Map<string, unknown>(error instanceof Error ? Object.entries(error) : [])
  const value = fields.get(name)
  return typeof value === 'string' ? value : ''
}

/** The violated constraint in SQLite's notation, so that callers need only one. */
function constraintName(error: unknown, state: string): string {
  if (state === '23503') return 'FOREIGN KEY constraint failed'
  const column = /^Key \("?(\w+)/.exec(field(error, 'detail'))?.[1] ?? field(error, 'column')
  return column === '' ? field(error, 'constraint') : `${field(error, 'table')}.${column}`
}

export function toPostgresFailure(error: unknown, statement?: number): StoreFailure {
  if (error instanceof StoreError) {
    return { class: error.class, message: error.message, constraint: error.constraint, statement }
  }
  const message = postgresErrorMessage(error)
  const state = sqlState(error)
  const kind = error instanceof TypeError ? 'invalid' : classifySqlState(state)
  if (kind !== 'conflict' || state === undefined) return { class: kind, message, statement }
  return { class: kind, message, constraint: constraintName(error, state), statement }
}
