import { text } from 'node:stream/consumers'
import {
  requestControlStream,
  type ControlSocketRequest,
  type ControlSocketResponse,
} from './control-socket.ts'

/** Sends a request to the relay that runs on a data directory, and reads the whole response. */
export function requestControl(
  dataDir: string,
  options: ControlSocketRequest,
): Promise<ControlSocketResponse> {
  return requestControlStream(dataDir, options, async (response) => ({
    status: response.statusCode ?? 0,
    text: await text(response),
  }))
}
