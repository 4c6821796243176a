// The loss and the metrics over the samples seen so far: sums and counts, so batches of any
// size, and the shares of several ranks, combine exactly.
//
// Where each pixel of an image has a class, metrics see every labelled pixel as a sample: accuracy
// is that of pixels, and confusion matrices count them. The loss stays a mean over images. Without
// a labelled pixel the metrics are NaN, and the line says so.

#ifndef DTNN_MODELS_TRAINING_STEP_METRIC_AVERAGES_H_
#define DTNN_MODELS_TRAINING_STEP_METRIC_AVERAGES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "optim/losses/better.h"
#include "optim/losses/loss.h"
#include "optim/metrics/metric.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

// What is computed: the loss first, then the metrics in the order given.
struct MetricSet {
  std::shared_ptr<const Loss> loss;
  std::vector<std::shared_ptr<const Metric>> metrics;
  std::shared_ptr<const std::vector<std::string>> class_names = {};  // for reports; null: unknown

  // In that order.
  std::vector<std::string> Names() const;
  // Which values of the loss or a metric are better, by its name, perhaps after "val_"; nullopt for
  // one that is not computed.
  std::optional<Better> FindBetter(std::string_view name) const;
};

using NamedMetrics = std::vector<std::pair<std::string, double>>;

class MetricAverages {
 public:
  MetricAverages() = default;
  // For a network with `outputs` outputs, or whose output is an image in `format` of as many
  // channels; shares the loss and the metrics.
  MetricAverages(const MetricSet& metric_set, int64_t outputs,
                 std::optional<TensorFormat> format = std::nullopt);

  // One batch: the sum of its losses, and its predictions for the metrics. InvalidArgument, and
  // nothing is added, for a metric that is not defined for such targets.
  absl::Status Add(double loss_sum, const Tensor& predictions, const Tensor& targets);

  int64_t samples() const { return samples_; }
  // Index 0 is the loss, 1 + i metric i. NaN before the first sample, or labelled pixel.
  double Value(size_t index) const;
  // By name; NaN for one that is not among them.
  double operator[](std::string_view name) const;
  // All of them, in their order, with `prefix` before their names.
  NamedMetrics Values(std::string_view prefix = "") const;
  // "val_cce: 0.3921180, val_acc: 88.95%", or of images "val_cce: 0.0000000, no labelled pixel". A
  // metric whose short name another has too goes by its full one.
  std::string Format(std::string_view prefix) const;
  // The lines of those metrics that are more than a number.
  std::string Report(std::string_view prefix) const;
  const MetricSet& metric_set() const { return metric_set_; }

  // Adds those of other samples, with the same metrics.
  void Add(const MetricAverages& other);

  // The sums and the count as doubles, to be added up over ranks, and back.
  std::vector<double> ToDoubles() const;
  void FromDoubles(std::span<const double> values);

 private:
  // Samples of the metrics: those of the loss or, of images, their labelled pixels.
  int64_t rows() const { return format_ ? int64_t(sums_.back()) : samples_; }
  void AddRows(const Tensor& predictions, const Tensor& targets);
  std::span<const double> SumsOf(size_t metric) const {
    return std::span(sums_).subspan(begins_[metric], begins_[metric + 1] - begins_[metric]);
  }

  MetricSet metric_set_;
  // Sums of the loss, then of each metric; for images also the number of labelled pixels.
  std::vector<double> sums_;
  std::vector<size_t> begins_;          // of each metric's sums, and their end
  std::vector<bool> in_full_;           // whether a metric is printed under its full name
  std::optional<TensorFormat> format_;  // of outputs that are images
  int64_t samples_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_STEP_METRIC_AVERAGES_H_
