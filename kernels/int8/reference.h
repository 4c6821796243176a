// The definition of a convolution in 8 bits, in plain loops.

#ifndef DTNN_KERNELS_INT8_REFERENCE_H_
#define DTNN_KERNELS_INT8_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/int8/int8_conv2d.h"

namespace dtnn::reference {

// Dense operands. Results are bytes or float32, as numbers.
inline std::vector<double> Int8Convolution(const Int8Conv2dSpec& spec,
                                           const Int8Conv2dParameters& parameters, const uint8_t* x,
                                           const uint8_t* addend) {
  const Conv2dSpec& s = spec.conv;
  const int64_t channels = s.channels / s.groups, filters = s.filters / s.groups;
  const int64_t taps = s.kernel.vertical * s.kernel.horizontal;
  const bool last = s.filter_format.value_or(s.format) == TensorFormat::kNHWC;
  const auto weight = [&](int64_t filter, int64_t channel, int64_t tap) {
    const double scale = parameters.scale == nullptr ? 1 : double(parameters.scale[filter]);
    const int64_t at = last ? (channel * taps + tap) * s.filters + filter
                            : (filter * channels + channel) * taps + tap;
    return double(parameters.filter[at]) * scale;
  };
  std::vector<float> scales;  // of the filters
  for (int64_t filter = 0; filter < s.filters; ++filter) {
    double largest = 0;
    for (int64_t i = 0; i < channels * taps; ++i) {
      largest = std::max(largest, std::abs(weight(filter, i / taps, i % taps)));
    }
    scales.push_back(largest == 0 ? 1.0f : float(largest / 127));
  }
  const Quantization out = spec.output.value_or(Quantization());
  const float addend_multiplier = spec.addend.scale / out.scale;
  std::vector<double> results;
  for (int64_t pixel = 0; pixel < s.batch * s.out_height() * s.out_width(); ++pixel) {
    const int64_t left = pixel % s.out_width(), row = pixel / s.out_width();
    const int64_t top = row % s.out_height(), image = row / s.out_height();
    for (int64_t filter = 0; filter < s.filters; ++filter) {
      int64_t sum = 0;
      for (int64_t i = 0; i < channels * taps; ++i) {
        const int64_t channel = i / taps, tap = i % taps;
        const int64_t v = top * s.stride.vertical - s.padding.vertical +
                          tap / s.kernel.horizontal * s.dilation.vertical;
        const int64_t h = left * s.stride.horizontal - s.padding.horizontal +
                          tap % s.kernel.horizontal * s.dilation.horizontal;
        if (v < 0 || v >= s.height || h < 0 || h >= s.width) continue;
        const int64_t at = ((image * s.height + v) * s.width + h) * s.channels +
                           filter / filters * channels + channel;
        const auto w =
            int64_t(std::nearbyint(weight(filter, channel, tap) / double(scales[size_t(filter)])));
        sum += (x[at] - spec.input.zero_point) * w;
      }
      double offset = out.zero_point;
      if (s.epilogue.bias) offset += double(parameters.bias[filter]) / double(out.scale);
      if (s.epilogue.add) offset -= double(addend_multiplier) * spec.addend.zero_point;
      const auto multiplier =
          float(double(spec.input.scale) * double(scales[size_t(filter)]) / double(out.scale));
      float y = std::fma(float(sum), multiplier, float(offset));
      if (s.epilogue.add) {
        y = std::fma(float(addend[pixel * s.filters + filter]), addend_multiplier, y);
      }
      if (s.epilogue.relu) y = std::max(y, float(out.zero_point));
      if (spec.output) y = std::nearbyint(std::clamp(y, 0.0f, 255.0f));
      results.push_back(double(y));
    }
  }
  return results;
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_INT8_REFERENCE_H_
