export function Upstreams() {
  return null
}
