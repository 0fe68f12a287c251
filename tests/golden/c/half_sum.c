/* half_sum0: whole/one-kernel */
static void kernel_half_sum0(void *const *arguments, const int64_t *variables) {
  uint16_t *restrict const out = arguments[0];
  const uint16_t *restrict const in1 = arguments[1];
  const uint16_t *restrict const in2 = arguments[2];
  for (int64_t i0 = 0; i0 < 5; i0++) {
    float sum0_part[16];
    for (int32_t part = 0; part < 16; part++) sum0_part[part] = 0.0f;
    for (int64_t r0_start = 0; r0_start + 16 <= 40; r0_start += 16) {
      for (int32_t part = 0; part < 16; part++) {
        const int64_t r0 = r0_start + part;
        const float v0 = round_half(half_to_float(in1[i0 * 40 + r0]) * half_to_float(in2[i0 * 40 + r0]));
        sum0_part[part] = sum0_part[part] + v0;
      }
    }
    for (int64_t r0 = 32; r0 < 40; r0++) {
      const int64_t part = 0;
      const float v0 = round_half(half_to_float(in1[i0 * 40 + r0]) * half_to_float(in2[i0 * 40 + r0]));
      sum0_part[part] = sum0_part[part] + v0;
    }
    for (int32_t half = 8; half > 0; half /= 2)
      for (int32_t part = 0; part < half; part++) sum0_part[part] = sum0_part[part] + sum0_part[part + half];
    const float sum0 = round_half(sum0_part[0]);
    out[i0] = float_to_half(sum0);
  }
}
