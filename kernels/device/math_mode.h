// In what a device computes (`--math-mode`): a GPU in any of them, a CPU with fp32 or bf16. Sums,
// normalisation, losses, parameters and optimizers are float32 in all modes.

#ifndef DTNN_KERNELS_DEVICE_MATH_MODE_H_
#define DTNN_KERNELS_DEVICE_MATH_MODE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "tensor/dtype.h"

namespace dtnn {

enum class MathMode : uint8_t {
  kFp32,  // everything in the type of the parameters
  kTf32,  // operands of products and convolutions are rounded to TF32
  kBf16,  // activations, their gradients and copies of the weights are bfloat16
  kFp16,  // the same in float16; gradients are scaled, see update/loss_scale.h
};

inline constexpr std::pair<MathMode, std::string_view> kMathModes[] = {
    {MathMode::kFp32, "fp32"},
    {MathMode::kTf32, "tf32"},
    {MathMode::kBf16, "bf16"},
    {MathMode::kFp16, "fp16"},
};

constexpr std::string_view Name(MathMode mode) { return kMathModes[size_t(mode)].second; }
// Nothing for another word.
constexpr std::optional<MathMode> ParseMathMode(std::string_view word) {
  for (const auto& [mode, name] : kMathModes) {
    if (name == word) return mode;
  }
  return std::nullopt;
}

// The type of activations where parameters are `dtype`.
constexpr DType ActivationType(MathMode mode, DType dtype) {
  if (mode == MathMode::kBf16) return DType::kBfloat16;
  return mode == MathMode::kFp16 ? DType::kFloat16 : dtype;
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_DEVICE_MATH_MODE_H_
