/** Chunks: parts of the console that are loaded on demand, and what happens when one cannot be loaded. */
import { lazyRouteComponent } from '@tanstack/react-router'

/** A chunk is unavailable: the server is unreachable, or an upgrade has replaced the files of this release. */
export class ChunkError extends Error {
  constructor(cause: unknown) {
    super('A part of the console could not be loaded.', { cause })
    this.name = 'ChunkError'
  }
}

export async function loadChunk<Chunk>(load: () => Promise<Chunk>): Promise<Chunk> {
  try {
    return await load()
  } catch (error) {
    throw new ChunkError(error)
  }
}

/**
 * A page that is loaded on demand. Without this, the router reloads the browser page at once when a chunk is missing,
 * which leaves the browser's own error page while the server is unreachable.
 */
export const lazyPage: typeof lazyRouteComponent = (load, name) =>
  lazyRouteComponent(() => loadChunk(load), name)

/** Whether the server responds; any error of a proxy in front of it means no. */
async function isServerReachable(): Promise<boolean> {
  return fetch('/api/console/session', { cache: 'no-store' }).then(
    (response) => response.ok,
    () => false,
  )
}

const storageName = 'sluice.reloaded'
/** Reloading again sooner would repeat a failure that reloading does not repair. */
const minReloadIntervalMs = 60_000
const checkIntervalMs = 3_000

function isReloadDue(): boolean {
  return Date.now() - Number(sessionStorage.getItem(storageName) ?? 0) >= minReloadIntervalMs
}

export function reload(): void {
  sessionStorage.setItem(storageName, String(Date.now()))
  window.location.reload()
}

/**
 * Reloads the page as soon as the server responds, unless it was reloaded a moment ago. `onChecked` gets the result of each check.
 * Returns a function that stops checking.
 */
export function reloadWhenReachable(onChecked: (isReachable: boolean) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isStopped = false
  const check = async (): Promise<void> => {
    const isReachable = await isServerReachable()
    if (isStopped) return
    if (isReachable && isReloadDue()) {
      reload()
      return
    }
    onChecked(isReachable)
    timer = setTimeout(() => void check(), checkIntervalMs)
  }
  void check()
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}
