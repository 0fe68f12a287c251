/* matmul0: whole/one-kernel */
static void kernel_matmul0(void *const *arguments, const int64_t *variables) {
  float *restrict const out = arguments[0];
  const float *restrict const in1 = arguments[1];
  const float *restrict const in2 = arguments[2];
  #pragma omp parallel for
  for (int64_t i0_rows = 0; i0_rows < 8; i0_rows += 4) {
    for (int64_t i1_tile = 0; i1_tile < 96; i1_tile += 48) {
      float sum0[4][48];
      for (int32_t row = 0; row < 4; row++) for (int32_t lane = 0; lane < 48; lane++) sum0[row][lane] = 0.0f;
      for (int64_t r0 = 0; r0 < 30; r0++) {
        #pragma GCC unroll 4
        for (int32_t row = 0; row < 4; row++) {
          const int64_t i0 = i0_rows + row;
          const float x0 = in1[i0 * 30 + r0];
          for (int32_t lane = 0; lane < 48; lane++) {
            const int64_t i1 = i1_tile + lane;
            sum0[row][lane] = sum0[row][lane] + (x0 * in2[i1 + r0 * 96]);
          }
        }
      }
      #pragma GCC unroll 4
      for (int32_t row = 0; row < 4; row++) {
        const int64_t i0 = i0_rows + row;
        for (int32_t lane = 0; lane < 48; lane++) {
          const int64_t i1 = i1_tile + lane;
          out[i0 * 96 + i1] = sum0[row][lane];
        }
      }
    }
  }
}
