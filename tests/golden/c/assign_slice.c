/* assign: classic/assign */
static void kernel_assign(void *const *arguments, const int64_t *variables) {
  int32_t *restrict const out = arguments[0];
  const int32_t *restrict const in1 = arguments[1];
  for (int64_t i0 = 0; i0 < 4; i0++) {
    out[i0 + 2] = (int32_t)((uint32_t)out[i0 + 2] + (uint32_t)in1[i0]);
  }
}
