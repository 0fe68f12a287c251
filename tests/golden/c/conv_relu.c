/* conv_relu0: whole/one-kernel */
static void kernel_conv_relu0(void *const *arguments, const int64_t *variables) {
  float *restrict const out = arguments[0];
  const float *restrict const in1 = arguments[1];
  const float *restrict const in2 = arguments[2];
  for (int64_t i0_rows = 0; i0_rows < 4; i0_rows += 4) {
    #pragma omp parallel for
    for (int64_t i1 = 0; i1 < 10; i1++) {
      for (int64_t i2_tile = 0; i2_tile < 12; i2_tile += 12) {
        float sum0[4][16];
        for (int32_t row = 0; row < 4; row++) for (int32_t lane = 0; lane < 16; lane++) sum0[row][lane] = 0.0f;
        for (int64_t r0 = 0; r0 < 3; r0++) {
          for (int64_t r1 = 0; r1 < 3; r1++) {
            const bool inside0 = 0 < i1 + r1;
            const bool inside1 = i1 + r1 < 11;
            for (int64_t r2 = 0; r2 < 3; r2++) {
              const int64_t row0_first = i1 * 12 + i2_tile + r0 * 120 + r1 * 12 + r2 - 13;
              const bool row0_whole = inside0 & inside1 & (row0_first >= 0) & (row0_first + 15 < 360);
              float row0_edge[16];
              if (!row0_whole) for (int32_t lane = 0; lane < 16; lane++) {
                const int64_t i2 = i2_tile + lane;
                const bool inside = inside0 & inside1 & (0 < i2 + r2) & (i2 + r2 < 13) & (lane < 12);
                NOT_VECTORISED;
                row0_edge[lane] = float_if(inside, in1[index_if(inside, i1 * 12 + i2 + r0 * 120 + r1 * 12 + r2 - 13)]);
              }
              const float *const row0 = row0_whole ? in1 + row0_first : row0_edge;
              const int32_t row0_begin = within_tile(-i2_tile - r2 + 1);
              const uint32_t row0_count = (uint32_t)(within_tile(-i2_tile - r2 + 13) - row0_begin);
              #pragma GCC unroll 4
              for (int32_t row = 0; row < 4; row++) {
                const int64_t i0 = i0_rows + row;
                const float x0 = in2[i0 * 27 + r0 * 9 + r1 * 3 + r2];
                #pragma GCC unroll 1
                for (int32_t lane = 0; lane < 16; lane++) {
                  const float v0 = float_if((uint32_t)(lane - row0_begin) < row0_count, row0[lane]) * x0;
                  sum0[row][lane] = sum0[row][lane] + v0;
                }
              }
            }
          }
        }
        #pragma GCC unroll 4
        for (int32_t row = 0; row < 4; row++) {
          const int64_t i0 = i0_rows + row;
          #pragma GCC unroll 1
          for (int32_t lane = 0; lane < 12; lane++) {
            const int64_t i2 = i2_tile + lane;
            out[i0 * 120 + i1 * 12 + i2] = max_float(sum0[row][lane], 0.0f);
          }
        }
      }
    }
  }
}
