/**
 * The test files of a run, shared by several processes: each takes the next file that no other has taken. What is taken
 * is a file in a folder, because the processes have no other connection.
 */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface FileQueue {
  /** Absolute paths, in the order in which they are taken. */
  readonly files: readonly string[]
  readonly timeoutMs: number
  /** The folder of what has been taken. */
  readonly takenDir: string
}

export function createQueue(path: string, files: readonly string[], timeoutMs: number): FileQueue {
  const queue = { files, timeoutMs, takenDir: `${path}.taken` }
  mkdirSync(queue.takenDir)
  writeFileSync(path, JSON.stringify(queue))
  return queue
}

export function readQueue(path: string): FileQueue {
  return JSON.parse(readFileSync(path, 'utf8')) as FileQueue
}

const markerOf = ({ takenDir }: FileQueue, index: number): string => join(takenDir, String(index))

/** The next file, which no other process gets; undefined if all have been taken. */
export function takeFile(queue: FileQueue): string | undefined {
  for (const [index, file] of queue.files.entries()) {
    if (existsSync(markerOf(queue, index))) continue
    try {
      closeSync(openSync(markerOf(queue, index), 'wx'))
      return file
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
  }
  return undefined
}

export function isEmpty(queue: FileQueue): boolean {
  return queue.files.every((_, index) => existsSync(markerOf(queue, index)))
}
