#include "data/normalize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "tensor/errors.h"

namespace dtnn {
namespace {

double At(const std::vector<double>& values, int64_t channel) {
  return values.size() == 1 ? values[0] : values[size_t(channel)];
}

template <typename T>
void Affine(T* values, int64_t count, T offset, T scale) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int64_t j = 0; j < 8; ++j) values[i + j] = (values[i + j] + offset) * scale;
  }
  for (; i < count; ++i) values[i] = (values[i] + offset) * scale;
}

// Pixels of C channels (0: `channels`).
template <int C, typename T>
void AffinePixels(T* values, int64_t pixels, int64_t channels, const Normalization& by) {
  if constexpr (C > 0) {
    // A run of pixels that is a whole number of vectors.
    constexpr int64_t kRun = 8 * C;
    T offset[kRun], scale[kRun];
    for (int64_t i = 0; i < kRun; ++i) {
      offset[i] = T(At(by.offset, i % C));
      scale[i] = T(At(by.scale, i % C));
    }
    const int64_t count = pixels * C;
    int64_t i = 0;
    for (; i + kRun <= count; i += kRun) {
      for (int64_t j = 0; j < kRun; ++j) values[i + j] = (values[i + j] + offset[j]) * scale[j];
    }
    for (; i < count; ++i) values[i] = (values[i] + offset[i % kRun]) * scale[i % kRun];
  } else {
    for (int64_t i = 0; i < pixels * channels; ++i) {
      const int64_t c = i % channels;
      values[i] = (values[i] + T(At(by.offset, c))) * T(At(by.scale, c));
    }
  }
}

template <typename T>
void Apply(const Normalization& by, const ImageExtents& extents, TensorFormat format,
           std::span<T> samples) {
  if (!by.any()) return;
  const int64_t channels = extents.channels, pixels = extents.height * extents.width;
  if (by.scale.size() == 1 && by.offset.size() == 1) {
    Affine(samples.data(), int64_t(samples.size()), T(by.offset[0]), T(by.scale[0]));
  } else if (format == TensorFormat::kNHWC) {
    const auto apply = channels == 3 ? AffinePixels<3, T> : AffinePixels<0, T>;
    apply(samples.data(), int64_t(samples.size()) / channels, channels, by);
  } else {
    for (int64_t plane = 0; plane < int64_t(samples.size()) / pixels; ++plane) {
      const int64_t c = plane % channels;
      Affine(samples.data() + plane * pixels, pixels, T(At(by.offset, c)), T(At(by.scale, c)));
    }
  }
}

}  // namespace

// ((x + o1) s1 + o2) s2 = (x + o1 + o2 / s1) s1 s2
Normalization Then(const Normalization& first, const Normalization& second) {
  if (!first.any()) return second;
  if (!second.any()) return first;
  Normalization both;
  const size_t channels = std::max(
      {first.offset.size(), first.scale.size(), second.offset.size(), second.scale.size()});
  for (int64_t c = 0; c < int64_t(channels); ++c) {
    const double scale = At(first.scale, c);
    both.offset.push_back(At(first.offset, c) + At(second.offset, c) / scale);
    both.scale.push_back(scale * At(second.scale, c));
  }
  return both;
}

absl::Status CheckNormalization(const Normalization& normalization, int64_t channels) {
  const size_t offsets = normalization.offset.size(), scales = normalization.scale.size();
  const auto fits = [&](size_t n) { return n == 1 || int64_t(n) == channels; };
  if (!(offsets == 0 && scales == 0) && !(fits(offsets) && fits(scales))) {
    return InvalidArgument("normalisation with ", offsets, " offsets and ", scales,
                           " scales; expected one each, or ", channels, ", one per channel");
  }
  for (double scale : normalization.scale) {
    if (scale == 0) {
      return absl::InvalidArgumentError("normalisation with scale 0 would make all values equal");
    }
  }
  for (const std::vector<double>* values : {&normalization.offset, &normalization.scale}) {
    for (double value : *values) {
      if (!std::isfinite(value)) {
        return InvalidArgument("normalisation by ", value, ", which is not finite");
      }
    }
  }
  return absl::OkStatus();
}

void Normalize(const Normalization& normalization, const ImageExtents& extents, TensorFormat format,
               std::span<float> samples) {
  Apply(normalization, extents, format, samples);
}

void Normalize(const Normalization& normalization, const ImageExtents& extents, TensorFormat format,
               std::span<double> samples) {
  Apply(normalization, extents, format, samples);
}

}  // namespace dtnn
