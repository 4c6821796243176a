// A number that tells how good predictions are, computed from sums over samples: those of batches
// of any size, or of several ranks, simply add up. Most are a mean and need one sum; others count.
//
// Targets are one class per sample, int32 (n,), or values, (n, outputs) of the predictions' dtype.

#ifndef DTNN_OPTIM_METRICS_METRIC_H_
#define DTNN_OPTIM_METRICS_METRIC_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "optim/losses/better.h"
#include "tensor/tensor.h"

namespace dtnn {

class Metric {
 public:
  virtual ~Metric() = default;
  virtual std::string_view name() const = 0;  // as --metrics spells it
  virtual Better better() const = 0;
  // The kinds of targets that it is defined for.
  virtual bool TakesClasses() const = 0;
  virtual bool TakesValues() const = 0;
  // How many sums it keeps for a network with `outputs` outputs.
  virtual int64_t sums(int64_t /*outputs*/) const { return 1; }
  // Adds the samples of a batch. Host tensors: predictions (n, outputs), and their targets.
  virtual void Add(const Tensor& predictions, const Tensor& targets,
                   std::span<double> sums) const = 0;
  // Its value over `samples` samples.
  virtual double Value(std::span<const double> sums, int64_t samples) const {
    return sums[0] / double(samples);
  }
  // The metric as progress lines print it, for example "acc: 98.53%"; `prefix` is "" or "val_".
  // Empty for metrics that are more than a number.
  virtual std::string Format(std::string_view prefix, double value) const = 0;
  // What is printed below an epoch, lines with their ends; empty for metrics that are a number.
  // `class_names`: of the outputs; empty where they are not known, and numbers stand for them.
  virtual std::string Report(std::string_view /*prefix*/, std::span<const double> /*sums*/,
                             std::span<const std::string> /*class_names*/) const {
    return "";
  }
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_METRICS_METRIC_H_
