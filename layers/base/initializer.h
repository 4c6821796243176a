// Initial values of parameters.
//
//   zeros, ones
//   glorot_uniform, glorot_normal   variance 2 / (fan_in + fan_out)    (Glorot & Bengio, 2010)
//   he_uniform, he_normal           variance 2 / fan_in                (He et al., 2015)
//   lecun_uniform, lecun_normal     variance 1 / fan_in                (LeCun et al., 1998)
//
// Uniform: in [-l, l], l = sqrt(3 variance). Normal: truncated at two of its standard deviations,
// which are widened so that the variance that remains is the one wanted.
//
// Fans are given by the layer, which knows its own layout: a convolution's are channels * kh * kw
// and filters * kh * kw in either format. Values come from one Philox stream per parameter, value i
// from the stream's i-th number: the same on any number of threads and ranks.

#ifndef DTNN_LAYERS_BASE_INITIALIZER_H_
#define DTNN_LAYERS_BASE_INITIALIZER_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/philox.h"
#include "tensor/tensor.h"

namespace dtnn {

enum class InitializerKind : uint8_t {
  kZeros,
  kOnes,
  kGlorotUniform,
  kHeUniform,
  kGlorotNormal,
  kHeNormal,
  kLecunUniform,
  kLecunNormal
};
inline constexpr InitializerKind kInitializerKinds[] = {
    InitializerKind::kZeros,        InitializerKind::kOnes,         InitializerKind::kGlorotUniform,
    InitializerKind::kHeUniform,    InitializerKind::kGlorotNormal, InitializerKind::kHeNormal,
    InitializerKind::kLecunUniform, InitializerKind::kLecunNormal};

std::string_view Name(InitializerKind kind);  // "glorot_uniform", ..., as in the table above
std::optional<InitializerKind> ParseInitializerKind(std::string_view name);

struct Initializer {
  InitializerKind kind = InitializerKind::kZeros;
  int64_t fan_in = 1, fan_out = 1;
  double times = 1;  // of kOnes: the value

  // The variance of the values drawn; 0 for the constant kinds.
  double Variance() const;
  // No value is further from 0: l, or two standard deviations of the normal before truncation; the
  // value itself of the constant kinds.
  double Limit() const;
  // Fills a dense host tensor of a floating dtype.
  void Fill(const Tensor& tensor, const Philox& random) const;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_BASE_INITIALIZER_H_
