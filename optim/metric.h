// A figure that tells how good predictions are. The value over many samples is the mean of the
// values of the samples, so sums from batches of any size, or from several ranks, simply add up.

#ifndef DTNN_OPTIM_METRIC_H_
#define DTNN_OPTIM_METRIC_H_

#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace dtnn {

class Metric {
 public:
  virtual ~Metric() = default;
  virtual std::string_view name() const = 0;  // as --metrics spells it
  // The sum over the samples of their values. Host tensors: predictions (n, classes), labels int32
  // (n,).
  virtual double Sum(const Tensor& predictions, const Tensor& labels) const = 0;
  // A mean value as progress lines print it, for example "acc: 98.53%"; `prefix` is "" or "val_".
  virtual std::string Format(std::string_view prefix, double value) const = 0;
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRIC_H_
