/** `/rotate-key` of the control socket, for the command alone: the admin API over HTTP does not have it. */
import { z } from 'zod'
import { RotationError } from '../../db/data-key-rotation.ts'
import { SealError } from '../../lib/encryption.ts'
import { apiErrorFromThrown, apiErrorFromZod } from '../../http/api/thrown-errors.ts'
import { apiError } from '../../errors.ts'
import { KeyRotation, type KeyRotationDeps } from './key-rotation.ts'

const stepSchema = z.strictObject({
  begin: z.boolean().optional(),
  position: z.object({ column: z.int().min(0), key: z.array(z.string()) }).optional(),
  max_rows: z.int().min(1).optional(),
})

async function step(rotation: KeyRotation, request: Request): Promise<object> {
  const parsed = stepSchema.safeParse(await request.json())
  if (!parsed.success) throw apiErrorFromZod(parsed.error)
  const { max_rows: maxRows, ...rest } = parsed.data
  return rotation.step({ ...rest, ...(maxRows === undefined ? {} : { maxRows }) })
}

/** `GET`: the status of the rotation. `POST`: its next step. */
export function createRotationEndpoint(
  deps: KeyRotationDeps,
  onInternalError: (error: unknown, requestId: string) => void,
): (request: Request) => Promise<Response> {
  const rotation = new KeyRotation(deps)
  return async (request) => {
    try {
      return Response.json(await (request.method === 'GET' ? rotation.status() : step(rotation, request)))
    } catch (thrown) {
      const isExpected = thrown instanceof RotationError || thrown instanceof SealError
      const { error, isBug } = apiErrorFromThrown(
        isExpected ? apiError('conflict', { message: thrown.message }) : thrown,
      )
      if (isBug) onInternalError(thrown, '')
      return Response.json(error.toBody(), { status: error.status })
    }
  }
}
