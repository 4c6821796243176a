// Initial values of parameters.
//
//   glorot_uniform   U(-l, l), l = sqrt(6 / (fan_in + fan_out))     (Glorot & Bengio, AISTATS 2010)
//   he_uniform       U(-l, l), l = sqrt(6 / fan_in)                 (He et al., ICCV 2015)
//   zeros, ones
//
// Fans are given by the layer, which knows its own layout: a convolution's are channels * kh * kw
// and filters * kh * kw in either format. Values come from one Philox stream per parameter: the
// same on any number of threads and ranks.

#ifndef DTNN_LAYERS_INITIALIZER_H_
#define DTNN_LAYERS_INITIALIZER_H_

#include <cstdint>

#include "tensor/philox.h"
#include "tensor/tensor.h"

namespace dtnn {

enum class InitializerKind : uint8_t { kZeros, kOnes, kGlorotUniform, kHeUniform };

struct Initializer {
  InitializerKind kind = InitializerKind::kZeros;
  int64_t fan_in = 1, fan_out = 1;

  // The limit l of the uniform kinds.
  double Limit() const;
  // Fills a dense host tensor of a floating dtype.
  void Fill(const Tensor& tensor, const Philox& random) const;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_INITIALIZER_H_
