/**
 * Writes lines to a file descriptor in the background, in order. It never fails and never blocks the event loop: while
 * the reader is gone or does not read, lines are buffered up to a bound and dropped beyond it, and the first write after
 * that reports how many were dropped.
 */
import { write as startWrite, writeSync } from 'node:fs'
import { errorCode } from './error-message.ts'

export interface LogOutput {
  /** A text of whole lines. */
  write(lines: string): void
  /** Starts to write what is buffered; after a failure, tries again. */
  flush(): void
  /** Writes what is buffered before the process exits, unless the reader is gone or does not read for a second. */
  flushSync(): void
}

export interface LogOutputOptions {
  readonly maxBufferedChars: number
  /** The line, with its end, that reports dropped lines. */
  readonly droppedLine: (count: number) => string
}

/** Fewer system calls under load, and lines that are still fresh otherwise. */
const flushChars = 8192
const retryMs = 10
const maxExitMs = 1000
const nothing = Buffer.alloc(0)

export function openLogOutput(fd: number, { maxBufferedChars, droppedLine }: LogOutputOptions): LogOutput {
  let buffered = ''
  let dropped = 0
  /** What the system has not taken yet. A failing output costs nothing per line. */
  let pending: Buffer = nothing
  let isWriting = false

  const takeBuffered = (): Buffer => {
    const bytes = Buffer.from(dropped > 0 ? buffered + droppedLine(dropped) : buffered)
    buffered = ''
    dropped = 0
    return bytes
  }
  const flush = (): void => {
    if (isWriting) return
    if (pending.length === 0) pending = takeBuffered()
    if (pending.length === 0) return
    isWriting = true
    startWrite(fd, pending, onWritten)
  }
  const onWritten = (error: Error | null, written: number): void => {
    isWriting = false
    if (error !== null) {
      // The pipe is full and its reader reads. Without a reader there is nothing to wait for.
      if (errorCode(error) === 'EAGAIN') setTimeout(flush, retryMs).unref()
      return
    }
    pending = pending.subarray(written)
    if (pending.length > 0 || buffered.length >= flushChars) flush()
  }
  return {
    write(lines) {
      if (buffered.length + lines.length > maxBufferedChars) {
        dropped += 1
        return
      }
      buffered += lines
      if (buffered.length >= flushChars && pending.length === 0) flush()
    },
    flush,
    flushSync() {
      // A write in progress completes by itself, or leaves its bytes in `pending`.
      const [unwritten, inProgress] = isWriting ? [nothing, pending] : [pending, nothing]
      const rest = writeOut(fd, Buffer.concat([unwritten, takeBuffered()]))
      pending = Buffer.concat([inProgress, rest])
    },
  }
}

/** Returns what could not be written. */
function writeOut(fd: number, bytes: Buffer): Buffer {
  const end = performance.now() + maxExitMs
  let rest = bytes
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest))
    } catch (error) {
      if (errorCode(error) !== 'EAGAIN' || performance.now() > end) return rest
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs)
    }
  }
  return rest
}
