// Dropout in plain loops and double precision: the definition that implementations are tested
// against. Element i is kept where Uniform(offset + number of i) >= rate; the number is i, but
// where samples are `channels` rows of `pixels` elements: there that of (sample, pixel, channel).

#ifndef DTNN_KERNELS_DROPOUT_REFERENCE_H_
#define DTNN_KERNELS_DROPOUT_REFERENCE_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/philox.h"

namespace dtnn::reference {

inline void Dropout(double rate, const Philox& stream, uint64_t offset, std::span<const double> x,
                    std::span<double> y, bool accumulate, size_t channels = 1, size_t pixels = 1) {
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t plane = i / pixels, sample = plane / channels, pixel = i % pixels;
    const size_t number = (sample * pixels + pixel) * channels + plane % channels;
    const bool kept = stream.Uniform(offset + number) >= rate;
    y[i] = (accumulate ? y[i] : 0) + (kept || std::isnan(x[i]) ? x[i] * (1 / (1 - rate)) : 0);
  }
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_DROPOUT_REFERENCE_H_
