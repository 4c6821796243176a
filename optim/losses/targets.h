// Targets as rows of values, whichever kind they are: a class is a one among zeros.
// Shapes: (n,) int32, a class per sample, or (n, outputs) values of the predictions' dtype.

#ifndef DTNN_OPTIM_LOSSES_TARGETS_H_
#define DTNN_OPTIM_LOSSES_TARGETS_H_

#include <cstdint>

#include "tensor/tensor.h"

namespace dtnn {

// T: the dtype of the predictions. The targets must outlive it.
template <typename T>
class TargetRows {
 public:
  explicit TargetRows(const Tensor& targets)
      : classes_(targets.dtype() == DType::kInt32 ? targets.data<int32_t>() : nullptr),
        values_(classes_ == nullptr ? targets.data<T>() : nullptr),
        pitch_(classes_ == nullptr ? targets.RowPitch() : 1) {}

  bool are_classes() const { return classes_ != nullptr; }
  int32_t ClassOf(int64_t row) const { return classes_[row]; }
  double At(int64_t row, int64_t output) const {
    return classes_ != nullptr ? double(classes_[row] == output)
                               : double(values_[row * pitch_ + output]);
  }

 private:
  const int32_t* classes_;
  const T* values_;
  int64_t pitch_;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_LOSSES_TARGETS_H_
