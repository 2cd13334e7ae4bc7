/** A mail server for one test that keeps every e-mail (the part of RFC 5321 that our client uses). */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export interface MailServer {
  readonly url: string
  /** The source of the next e-mail that no earlier call has returned. */
  next(): Promise<string>
}

export async function startMailServer(t: TestContext): Promise<MailServer> {
  const emails: string[] = []
  const waiters: ((email: string) => void)[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let text = ''
    let isData = false
    socket.write('220 here\r\n')
    socket.on('error', () => socket.destroy())
    socket.on('data', (data) => {
      text += data.toString()
      for (;;) {
        const end = text.indexOf(isData ? '\r\n.\r\n' : '\r\n')
        if (end === -1) return
        const part = text.slice(0, end)
        text = text.slice(end + (isData ? 5 : 2))
        if (isData) {
          isData = false
          const waiter = waiters.shift()
          if (waiter === undefined) emails.push(part)
          else waiter(part)
          socket.write('250 kept\r\n')
        } else if (/^DATA/i.test(part)) {
          isData = true
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
      const known = emails.shift()
      if (known !== undefined) return known
      return new Promise((resolve) => waiters.push(resolve))
    },
  }
}

/** The token of the link in an e-mail. */
export function tokenInEmail(email: string): string {
  const plain = email.replaceAll('=\r\n', '').replaceAll('=3D', '=')
  const token = /#([\w-]{43})/.exec(plain)?.[1]
  if (token === undefined) throw new Error(`No link found in the e-mail: ${email}`)
  return token
}
