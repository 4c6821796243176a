#include "models/run/parts/class_weights.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "absl/strings/str_format.h"
#include "comm/gather_values.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/ranks.h"
#include "models/run/options/in_force.h"
#include "models/run/samples/class_weights_file.h"
#include "models/run/samples/samples_of_part.h"
#include "optim/losses/losses.h"
#include "tensor/status_macros.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr std::string_view kBalanced = "balanced";
constexpr std::string_view kLoss = "categorical_cross_entropy";

// Counts the samples of data.part.
absl::StatusOr<std::vector<int64_t>> CountClasses(const RunOptions& options,
                                                  const Dataset& dataset) {
  const std::vector<int32_t> labels = dataset.labels(Split::kTrain);
  if (labels.empty()) {
    return UsageError("RunOptions::training.class_weights=", options.training.class_weights,
                      ": the classes of the samples of ", dataset.name(),
                      " are not known before they are read; give a weight for each class");
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> samples, SamplesOfPart(options, dataset));
  std::vector<int64_t> counts(size_t(dataset.outputs()));
  for (const int64_t sample : samples) ++counts[size_t(labels[size_t(sample)])];
  return counts;
}

absl::StatusOr<std::vector<double>> Balance(const RunOptions& options, const Dataset& dataset,
                                            Communicator* communicator) {
  const size_t classes = size_t(dataset.outputs());
  const absl::StatusOr<std::vector<int64_t>> counted = CountClasses(options, dataset);
  // Whatever became of them: other ranks wait for this one.
  std::vector<int64_t> counts = counted.value_or(std::vector<int64_t>(classes));
  if (communicator != nullptr) {
    DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all,
                          GatherValues<int64_t>(*communicator, counts));
    counts.assign(classes, 0);
    for (size_t i = 0; i < all.size(); ++i) counts[i % classes] += all[i];
  }
  DTNN_RETURN_IF_ERROR(counted.status());
  double samples = 0, present = 0;
  for (const int64_t count : counts) {
    samples += double(count);
    present += count > 0 ? 1 : 0;
  }
  std::vector<double> weights;
  for (const int64_t count : counts) {
    weights.push_back(count > 0 ? samples / (present * double(count)) : 1);
  }
  return weights;
}

absl::Status CheckLoss(const RunOptions& options) {
  if (LossOf(options) == kLoss) return absl::OkStatus();
  return UsageError("RunOptions::training.class_weights=", options.training.class_weights,
                    ": needs RunOptions::training.loss=", kLoss, ", not ", LossOf(options));
}

// The weights of a file, of a data set whose classes are known.
absl::StatusOr<std::vector<double>> ReadFor(const RunOptions& options, const Dataset& dataset) {
  const std::string& path = options.training.class_weights;
  DTNN_ASSIGN_OR_RETURN(const std::vector<ClassWeightLine> lines, ReadClassWeights(path));
  return OrderClassWeights(lines, path, dataset.name(), dataset.outputs(), dataset.class_names());
}

absl::StatusOr<std::vector<double>> ReadOnAll(const RunOptions& options, const Dataset& dataset,
                                              Communicator* communicator) {
  absl::StatusOr<std::vector<double>> weights =
      OfFlag(ReadFor(options, dataset), "RunOptions::training.class_weights");
  if (communicator == nullptr) return weights;
  DTNN_RETURN_IF_ERROR(Agree(communicator, weights.status()));
  DTNN_ASSIGN_OR_RETURN(const std::vector<double> all,
                        GatherValues<double>(*communicator, *weights));
  if (std::ranges::equal(*weights, std::span(all).first(weights->size()))) return weights;
  return UsageError("RunOptions::training.class_weights=", options.training.class_weights,
                    ": rank ", communicator->rank(),
                    " has other weights in this file than rank 0; give all the same");
}

}  // namespace

absl::Status CheckClassWeights(const RunOptions& options, std::string_view dataset,
                               int64_t classes) {
  if (options.training.class_weights.empty()) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(CheckLoss(options));
  if (HasClassWeightsFile(options)) {
    return OfFlag(ReadClassWeights(options.training.class_weights),
                  "RunOptions::training.class_weights")
        .status();
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<double> weights, ClassWeightsOf(options));
  if (weights.empty() || classes == 0 || int64_t(weights.size()) == classes) {
    return absl::OkStatus();
  }
  return UsageError("RunOptions::training.class_weights: has ",
                    Counted(int64_t(weights.size()), "weight"), ", but ", dataset, " has ", classes,
                    " classes");
}

absl::StatusOr<std::vector<double>> MakeClassWeights(const RunOptions& options,
                                                     const Dataset& dataset,
                                                     Communicator* communicator) {
  if (options.training.class_weights.empty()) return std::vector<double>();
  if (dataset.target_kind() == TargetKind::kValues) {
    return UsageError("RunOptions::training.class_weights=", options.training.class_weights,
                      ": needs one class per sample, but ", dataset.name(), " has values");
  }
  if (HasClassWeightsFile(options)) {
    DTNN_RETURN_IF_ERROR(CheckLoss(options));
    return ReadOnAll(options, dataset, communicator);
  }
  DTNN_RETURN_IF_ERROR(CheckClassWeights(options, dataset.name(), dataset.outputs()));
  if (options.training.class_weights == kBalanced && dataset.target_kind() == TargetKind::kPixels) {
    return UsageError("RunOptions::training.class_weights=", kBalanced,
                      ": counts the samples of each class, but ", dataset.name(),
                      " has a class for each pixel; give a weight for each class");
  }
  if (options.training.class_weights == kBalanced) return Balance(options, dataset, communicator);
  return ClassWeightsOf(options);
}

absl::StatusOr<std::shared_ptr<const Loss>> MakeWeightedLoss(const RunOptions& options,
                                                             const std::vector<double>& weights) {
  return MakeLoss(LossOf(options),
                  {.label_smoothing = options.training.label_smoothing, .class_weights = weights});
}

std::string DescribeClassWeights(const Dataset& dataset, const std::vector<double>& weights) {
  const std::vector<std::string> names = dataset.class_names();
  const auto name = [&](auto weight) {
    const size_t index = size_t(weight - weights.begin());
    return absl::StrFormat("%.4g (class %s)", *weight,
                           index < names.size() ? names[index] : StrCat(index));
  };
  const auto [least, most] = std::ranges::minmax_element(weights);
  if (*least == *most) return absl::StrFormat("**** Class weights: all %.4g\n", *least);
  return StrCat("**** Class weights: ", name(least), " to ", name(most), "\n");
}

}  // namespace dtnn
