#include "data/loading/channel_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "data/loading/catch_exceptions.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

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
absl::Status AddSamples(const Dataset& dataset, Split split, std::span<const int64_t> indices,
                        std::span<Moments> moments) {
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
        dataset.Read(split, indices.subspan(i, 1), TensorFormat::kNCHW, x, targets));
    for (size_t c = 0; c < moments.size(); ++c) {
      moments[c].Add(MomentsOf({x.data<double>() + c * pixels, pixels}));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void Moments::Add(const Moments& other) {
  const double sum = count + other.count;
  if (sum == 0) return;
  const double shift = other.mean - mean;
  mean += shift * (other.count / sum);
  squares += other.squares + shift * shift * (count * other.count / sum);
  count = sum;
}

absl::StatusOr<std::vector<Moments>> ComputeMoments(const Dataset& dataset, Split split,
                                                    std::span<const int64_t> indices,
                                                    const Share& share) {
  if (indices.empty()) {
    return absl::InvalidArgumentError(
        "no samples from which to compute mean and standard deviation");
  }
  // What is summed together must not depend on the number of threads, nor on that of shares.
  constexpr int64_t kChunk = 256;
  const int64_t count = int64_t(indices.size()), chunks = CeilDiv(count, kChunk);
  const int64_t first = chunks * share.index / share.shares;
  const int64_t last = chunks * (share.index + 1) / share.shares;
  const size_t channels = size_t(dataset.sample().channels);
  std::vector<Moments> moments(size_t(last - first) * channels);
  std::vector<absl::Status> statuses(size_t(last - first));
  ParallelFor(first, last, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const size_t place = size_t(i - first);
      const std::span<const int64_t> rest = indices.subspan(size_t(i * kChunk));
      statuses[place] = CatchExceptions([&] {
        return AddSamples(dataset, split, rest.first(std::min(rest.size(), size_t(kChunk))),
                          std::span(moments).subspan(place * channels, channels));
      });
    }
  });
  for (const absl::Status& status : statuses) DTNN_RETURN_IF_ERROR(status);
  return moments;
}

ChannelStatistics StatisticsOf(std::span<const Moments> moments, int64_t channels) {
  std::vector<Moments> total(static_cast<size_t>(channels));
  for (size_t i = 0; i < moments.size(); ++i) total[i % total.size()].Add(moments[i]);
  ChannelStatistics statistics;
  for (const Moments& channel : total) {
    statistics.mean.push_back(channel.mean);
    statistics.deviation.push_back(channel.count > 0 ? std::sqrt(channel.squares / channel.count)
                                                     : 0);
    statistics.count = channel.count;
  }
  return statistics;
}

absl::StatusOr<ChannelStatistics> ComputeChannelStatistics(const Dataset& dataset, Split split,
                                                           std::span<const int64_t> indices) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<Moments> moments,
                        ComputeMoments(dataset, split, indices, Share()));
  return StatisticsOf(moments, dataset.sample().channels);
}

absl::StatusOr<Normalization> Standardization(const ChannelStatistics& statistics) {
  constexpr double kRounding = 1e-12, kLeast = std::numeric_limits<float>::min();
  Normalization normalization;
  for (size_t c = 0; c < statistics.mean.size(); ++c) {
    const double deviation = statistics.deviation[c];
    normalization.offset.push_back(-statistics.mean[c]);
    const bool constant = deviation <= kRounding * std::abs(statistics.mean[c]);
    if (!constant && deviation < kLeast) {
      return InvalidArgument("channel ", c, " of the samples has the standard deviation ",
                             deviation, ", too small for float32; scale the data up");
    }
    normalization.scale.push_back(constant ? 1 : 1 / deviation);
  }
  return normalization;
}

}  // namespace dtnn
