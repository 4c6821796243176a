// A data set whose samples say which they are: sample i is labelled i and every value of it is i.
// It can fail at one sample on request.

#ifndef DTNN_DATA_TESTING_COUNTING_DATASET_H_
#define DTNN_DATA_TESTING_COUNTING_DATASET_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "data/dataset.h"
#include "tensor/dtype.h"

namespace dtnn::testing {

class CountingDataset : public Dataset {
 public:
  explicit CountingDataset(int64_t size, ImageExtents sample = {2, 3, 1}, int64_t failing = -1)
      : size_(size), sample_(sample), failing_(failing) {}

  std::string_view name() const override { return "counting"; }
  ImageExtents sample() const override { return sample_; }
  int64_t outputs() const override { return size_; }
  int64_t size(Split) const override { return size_; }

  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    absl::Status status = CheckRead(*this, split, indices, format, x, targets);
    if (!status.ok()) return status;
    ++reads_;
    const int64_t elements = sample_.height * sample_.width * sample_.channels;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] == failing_) return absl::DataLossError("the disk is on fire");
      targets.data<int32_t>()[i] = int32_t(indices[i]);
      DispatchFloating(x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        std::fill_n(x.data<T>() + int64_t(i) * elements, elements, T(indices[i]));
      });
    }
    return absl::OkStatus();
  }

  int64_t reads() const { return reads_; }

 private:
  const int64_t size_;
  const ImageExtents sample_;
  const int64_t failing_;
  mutable std::atomic<int64_t> reads_ = 0;
};

}  // namespace dtnn::testing

#endif  // DTNN_DATA_TESTING_COUNTING_DATASET_H_
