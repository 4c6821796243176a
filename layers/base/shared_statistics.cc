#include "layers/base/shared_statistics.h"

#include <algorithm>

#include "tensor/status_macros.h"

namespace dtnn {
namespace {

Tensor Part(const Tensor& whole, int64_t begin, int64_t count) {
  const size_t offset = size_t(whole.raw_data() - whole.buffer()->data());
  return Tensor::View(whole.buffer(), offset + size_t(begin) * SizeOf(whole.dtype()), whole.dtype(),
                      Shape{count});
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedStatistics>> SharedStatistics::Create(RankExchange& ranks,
                                                                           DeviceContext& context,
                                                                           int64_t channels,
                                                                           DType dtype) {
  std::unique_ptr<SharedStatistics> shared(new SharedStatistics(ranks, context, channels));
  DTNN_ASSIGN_OR_RETURN(shared->moments_,
                        Tensor::Zeros(DType::kFloat64, Shape{ranks.ranks() * (1 + 2 * channels)}));
  DTNN_ASSIGN_OR_RETURN(shared->sums_, Tensor::Zeros(dtype, Shape{2 * channels}));
  DTNN_ASSIGN_OR_RETURN(shared->device_sums_,
                        DeviceTwin::Create(context, dtype, Shape{2 * channels}));
  return shared;
}

absl::Status SharedStatistics::Combine(int64_t count, const BatchStatistics& statistics) {
  return ChangeOnHost(*context_, statistics.mean, [&](const Tensor& mean) {
    return ChangeOnHost(*context_, statistics.variance, [&](const Tensor& variance) {
      return Merge(count, mean.data<double>(), variance.data<double>());
    });
  });
}

absl::Status SharedStatistics::Merge(int64_t count, double* means, double* variances) {
  const int64_t size = 1 + 2 * channels_;
  const Tensor mine = Part(moments_, ranks_->rank() * size, size);
  mine.data<double>()[0] = double(count);
  std::copy_n(means, channels_, mine.data<double>() + 1);
  std::copy_n(variances, channels_, mine.data<double>() + 1 + channels_);
  DTNN_RETURN_IF_ERROR(ranks_->Gather(mine, moments_));

  std::fill_n(means, channels_, 0.0);
  std::fill_n(variances, channels_, 0.0);
  double total = 0;
  for (int rank = 0; rank < ranks_->ranks(); ++rank) {
    const double* const theirs = moments_.data<double>() + rank * size;
    if (theirs[0] == 0) continue;
    total += theirs[0];
    const double share = theirs[0] / total;
    for (int64_t c = 0; c < channels_; ++c) {
      const double apart = theirs[1 + c] - means[c];
      const double within = theirs[1 + channels_ + c] - variances[c];
      variances[c] += share * (within + apart * apart * (1 - share));
      means[c] += share * apart;
    }
  }
  count_ = int64_t(total);
  return absl::OkStatus();
}

absl::StatusOr<BatchNormGradients> SharedStatistics::Sum(const BatchNormGradients& mine) {
  DTNN_RETURN_IF_ERROR(context_->Copy(mine.gamma, Part(sums_, 0, channels_)));
  DTNN_RETURN_IF_ERROR(context_->Copy(mine.beta, Part(sums_, channels_, channels_)));
  DTNN_RETURN_IF_ERROR(context_->Synchronize());
  DTNN_RETURN_IF_ERROR(ranks_->Sum(sums_));
  DTNN_ASSIGN_OR_RETURN(const Tensor sums, device_sums_.Put(sums_));
  return BatchNormGradients{.gamma = Part(sums, 0, channels_),
                            .beta = Part(sums, channels_, channels_)};
}

}  // namespace dtnn
