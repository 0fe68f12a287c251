/* softmax0: whole/one-kernel */
static void kernel_softmax0(void *const *arguments, const int64_t *variables) {
  float *restrict const out = arguments[0];
  const float *restrict const in1 = arguments[1];
  for (int64_t i0 = 0; i0 < 20; i0++) {
    float max0_part[16];
    for (int32_t part = 0; part < 16; part++) max0_part[part] = -INFINITY;
    for (int64_t r0_start = 0; r0_start + 16 <= 100; r0_start += 16) {
      for (int32_t part = 0; part < 16; part++) {
        const int64_t r0 = r0_start + part;
        max0_part[part] = max_float(max0_part[part], in1[i0 * 100 + r0]);
      }
    }
    for (int64_t r0 = 96; r0 < 100; r0++) {
      const int64_t part = 0;
      max0_part[part] = max_float(max0_part[part], in1[i0 * 100 + r0]);
    }
    for (int32_t half = 8; half > 0; half /= 2)
      for (int32_t part = 0; part < half; part++) max0_part[part] = max_float(max0_part[part], max0_part[part + half]);
    const float max0 = max0_part[0];
    float sum0_part[16];
    for (int32_t part = 0; part < 16; part++) sum0_part[part] = 0.0f;
    for (int64_t r1_start = 0; r1_start + 16 <= 100; r1_start += 16) {
      for (int32_t part = 0; part < 16; part++) {
        const int64_t r1 = r1_start + part;
        sum0_part[part] = sum0_part[part] + expf(in1[i0 * 100 + r1] - max0);
      }
    }
    for (int64_t r1 = 96; r1 < 100; r1++) {
      const int64_t part = 0;
      sum0_part[part] = sum0_part[part] + expf(in1[i0 * 100 + r1] - max0);
    }
    for (int32_t half = 8; half > 0; half /= 2)
      for (int32_t part = 0; part < half; part++) sum0_part[part] = sum0_part[part] + sum0_part[part + half];
    const float sum0 = sum0_part[0];
    for (int64_t i1 = 0; i1 < 100; i1++) {
      out[i0 * 100 + i1] = expf(in1[i0 * 100 + i1] - max0) / sum0;
    }
  }
}
