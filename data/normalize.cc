#include "data/normalize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "tensor/parallel_for.h"
#include "tensor/shape.h"
#include "tensor/status_macros.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

// Of the values of one channel seen so far.
struct Moments {
  double count = 0, mean = 0, squares = 0;  // squares: the sum of (x - mean)^2

  void Add(const Moments& other) {
    const double sum = count + other.count;
    if (sum == 0) return;
    const double shift = other.mean - mean;
    mean += shift * (other.count / sum);
    squares += other.squares + shift * shift * (count * other.count / sum);
    count = sum;
  }
};

// Several sums side by side, which do not wait for each other.
template <typename F>
double SumOf(std::span<const double> values, F term) {
  std::array<double, 8> sums = {};
  size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    for (size_t j = 0; j < 8; ++j) sums[j] += term(values[i + j]);
  }
  for (size_t j = 0; i + j < values.size(); ++j) sums[j] += term(values[i + j]);
  double sum = 0;
  for (double part : sums) sum += part;
  return sum;
}

Moments MomentsOf(std::span<const double> values) {
  const double count = double(values.size());
  const double mean = SumOf(values, [](double value) { return value; }) / count;
  const double squares =
      SumOf(values, [mean](double value) { return (value - mean) * (value - mean); });
  return {count, mean, squares};
}

// The moments of every channel over the samples `indices`.
absl::Status AddSamples(const Dataset& dataset, Part part, std::span<const int64_t> indices,
                        std::vector<Moments>& moments) {
  const ImageExtents extents = dataset.sample();
  const size_t pixels = size_t(extents.height * extents.width);
  DTNN_ASSIGN_OR_RETURN(const Tensor x,
                        Tensor::Allocate(Device::Cpu(), DType::kFloat64,
                                         SampleShape(extents, TensorFormat::kNCHW).Prepend(1)));
  DTNN_ASSIGN_OR_RETURN(const Tensor targets,
                        Tensor::Allocate(Device::Cpu(), TargetDType(dataset, DType::kFloat64),
                                         TargetShape(dataset, 1)));
  for (size_t i = 0; i < indices.size(); ++i) {
    DTNN_RETURN_IF_ERROR(
        dataset.Read(part, indices.subspan(i, 1), TensorFormat::kNCHW, x, targets));
    for (size_t c = 0; c < moments.size(); ++c) {
      moments[c].Add(MomentsOf({x.data<double>() + c * pixels, pixels}));
    }
  }
  return absl::OkStatus();
}

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
    return absl::InvalidArgumentError(absl::StrCat("normalisation with ", offsets, " offsets and ",
                                                   scales, " scales; expected one each, or ",
                                                   channels, ", one per channel"));
  }
  for (double scale : normalization.scale) {
    if (scale == 0) {
      return absl::InvalidArgumentError(
          "normalisation with scale 0 would leave nothing of the data");
    }
  }
  for (const std::vector<double>* values : {&normalization.offset, &normalization.scale}) {
    for (double value : *values) {
      if (!std::isfinite(value)) {
        return absl::InvalidArgumentError(
            absl::StrCat("normalisation by ", value, ", which is no finite number"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ChannelStatistics> ComputeChannelStatistics(const Dataset& dataset, Part part,
                                                           std::span<const int64_t> indices) {
  if (indices.empty()) {
    return absl::InvalidArgumentError("no samples to compute the mean and the deviation of");
  }
  // What is summed together must not depend on the number of threads.
  constexpr int64_t kChunk = 256;
  const int64_t count = int64_t(indices.size());
  const size_t channels = size_t(dataset.sample().channels);
  std::vector<std::vector<Moments>> chunks((count + kChunk - 1) / kChunk,
                                           std::vector<Moments>(channels));
  std::vector<absl::Status> statuses(chunks.size());
  ParallelFor(0, int64_t(chunks.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * kChunk;
      statuses[i] = AddSamples(dataset, part,
                               indices.subspan(first, std::min(kChunk, count - first)), chunks[i]);
    }
  });
  std::vector<Moments> total(channels);
  for (size_t i = 0; i < chunks.size(); ++i) {
    if (!statuses[i].ok()) return statuses[i];
    for (size_t c = 0; c < channels; ++c) total[c].Add(chunks[i][c]);
  }
  ChannelStatistics statistics;
  for (const Moments& channel : total) {
    statistics.mean.push_back(channel.mean);
    statistics.deviation.push_back(std::sqrt(channel.squares / channel.count));
  }
  return statistics;
}

Normalization Standardization(const ChannelStatistics& statistics) {
  constexpr double kRounding = 1e-12;
  Normalization normalization;
  for (size_t c = 0; c < statistics.mean.size(); ++c) {
    const double deviation = statistics.deviation[c];
    normalization.offset.push_back(-statistics.mean[c]);
    const bool constant = deviation <= kRounding * std::abs(statistics.mean[c]);
    normalization.scale.push_back(constant ? 1 : 1 / deviation);
  }
  return normalization;
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
