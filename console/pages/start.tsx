/** Leads to the first page of whoever is signed in. */
import { Navigate } from '@tanstack/react-router'

export function Start() {
  return <Navigate to="/operator/upstreams" replace />
}
