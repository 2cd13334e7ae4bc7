/** Notices when the system clock jumps, forwards or back, by comparing it with the monotonic clock. */

/** Corrections of a time service are smaller. */
const minJumpMs = 10_000
const checkEveryMs = 1000

export interface Clocks {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Milliseconds since any point in time. */
  readonly monotonicNow: () => number
}

/** A function that returns by how much the system clock has jumped since its last call, in milliseconds; 0: it has not. */
export function createJumpDetector({ now, monotonicNow }: Clocks): () => number {
  let offsetMs = now() - monotonicNow()
  return () => {
    const nextMs = now() - monotonicNow()
    const jumpMs = nextMs - offsetMs
    offsetMs = nextMs
    return Math.abs(jumpMs) < minJumpMs ? 0 : jumpMs
  }
}

/** Calls `onJump` once for each jump. */
export function monitorClock(onJump: (jumpMs: number) => void): void {
  const detectJump = createJumpDetector({ now: Date.now, monotonicNow: () => performance.now() })
  const check = (): void => {
    const jumpMs = detectJump()
    if (jumpMs !== 0) onJump(jumpMs)
  }
  setInterval(check, checkEveryMs).unref()
}
