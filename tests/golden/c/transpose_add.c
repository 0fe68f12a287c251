/* transpose_add0: whole/one-kernel */
static void kernel_transpose_add0(void *const *arguments, const int64_t *variables) {
  float *restrict const out = arguments[0];
  const float *restrict const in1 = arguments[1];
  const float *restrict const in2 = arguments[2];
  for (int64_t i0 = 0; i0 < 33; i0++) {
    for (int64_t i1 = 0; i1 < 7; i1++) {
      out[i0 * 7 + i1] = in1[i0 + i1 * 33] + in2[i0 * 7 + i1];
    }
  }
}
