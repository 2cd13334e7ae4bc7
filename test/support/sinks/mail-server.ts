/** A mail server for one test: takes what comes and keeps it (RFC 5321, as far as our own client speaks it). */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export interface MailServer {
  readonly url: string
  /** The next letter that comes, or came and was not taken yet: its source. */
  next(): Promise<string>
}

export async function openMailServer(t: TestContext): Promise<MailServer> {
  const letters: string[] = []
  const takers: ((letter: string) => void)[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let text = ''
    let isLetter = false
    socket.write('220 here\r\n')
    socket.on('error', () => socket.destroy())
    socket.on('data', (data) => {
      text += data.toString()
      for (;;) {
        const end = text.indexOf(isLetter ? '\r\n.\r\n' : '\r\n')
        if (end === -1) return
        const part = text.slice(0, end)
        text = text.slice(end + (isLetter ? 5 : 2))
        if (isLetter) {
          isLetter = false
          const taker = takers.shift()
          if (taker === undefined) letters.push(part)
          else taker(part)
          socket.write('250 kept\r\n')
        } else if (/^DATA/i.test(part)) {
          isLetter = true
          socket.write('354 go on\r\n')
        } else if (/^QUIT/i.test(part)) socket.end('221 bye\r\n')
        else socket.write('250 fine\r\n')
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async next() {
      const known = letters.shift()
      if (known !== undefined) return known
      return new Promise((resolve) => takers.push(resolve))
    },
  }
}

/** The token of the link in a letter. */
export function tokenInLetter(letter: string): string {
  const plain = letter.replaceAll('=\r\n', '').replaceAll('=3D', '=')
  const token = /#([\w-]{43})/.exec(plain)?.[1]
  if (token === undefined) throw new Error(`There is no link in the letter: ${letter}`)
  return token
}
