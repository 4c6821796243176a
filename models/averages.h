// Running means of the loss and the metrics over samples: sums and one count, so batches of any
// size, and the shares of several ranks, combine exactly.

#ifndef DTNN_MODELS_AVERAGES_H_
#define DTNN_MODELS_AVERAGES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optim/loss.h"
#include "optim/metric.h"
#include "tensor/tensor.h"

namespace dtnn {

// Which figures are computed: the loss first, then the metrics in the order given.
struct Figures {
  std::shared_ptr<const Loss> loss;
  std::vector<std::shared_ptr<const Metric>> metrics;
};

class Averages {
 public:
  Averages() = default;
  explicit Averages(const Figures& figures) : sums_(1 + figures.metrics.size(), 0.0) {}

  // One batch: the sum of its losses, and its predictions for the metrics.
  void Add(const Figures& figures, double loss_sum, const Tensor& predictions,
           const Tensor& labels);

  int64_t samples() const { return samples_; }
  // Figure 0 is the loss, 1 + i metric i. NaN before the first sample.
  double Mean(size_t figure) const { return sums_[figure] / double(samples_); }
  // "val_cce: 0.3921180, val_acc: 88.95%".
  std::string Format(const Figures& figures, std::string_view prefix) const;

  // The sums and the count as doubles, to be added up over ranks, and back.
  std::vector<double> ToDoubles() const;
  void FromDoubles(std::span<const double> values);

 private:
  std::vector<double> sums_;
  int64_t samples_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_AVERAGES_H_
