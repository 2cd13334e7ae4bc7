/** Opens a SQLite file. SQLite's own error names neither the file nor the reason. */

import { accessSync, constants } from 'node:fs'
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite'
import { errorMessage } from '../../lib/error-message.ts'

/** The operating system's reason why this user cannot use the file or folder; null if it can. */
export function findAccessProblem(path: string, mode: number): string | null {
  try {
    accessSync(path, mode)
    return null
  } catch (error) {
    return errorMessage(error)
  }
}

/** Throws SQLite's error, with its code, and a message that names the file. */
export function openDatabase(path: string, options: DatabaseSyncOptions): DatabaseSync {
  try {
    return new DatabaseSync(path, options)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const mode = constants.R_OK | (options.readOnly === true ? 0 : constants.W_OK)
    error.message = `Cannot open ${path} (${findAccessProblem(path, mode) ?? error.message})`
    throw error
  }
}
