#include "models/run/options/run_options.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "comm/ranks/job/exit_code.h"
#include "data/datasets/mnist.h"
#include "kernels/device/fastest_format.h"
#include "kernels/device/math_mode.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

constexpr int64_t kDefaultBatchSize = 64;
constexpr int64_t kMostParts = 1'000'000;

std::string PathOf(const RunOptions& options, const std::string& part) {
  if (!part.empty()) return part;
  if (!options.data.path.empty()) return options.data.path;
  // With a path for one split, the other is nowhere rather than where a default is.
  const bool nowhere = options.data.train_path.empty() && options.data.test_path.empty();
  return nowhere && options.data.name == "mnist" ? kFashionMnistPath : "";
}

}  // namespace

std::vector<std::string*> PathsOf(RunOptions& o) {
  return {&o.network.weights,
          &o.data.path,
          &o.data.train_path,
          &o.data.test_path,
          &o.schedule.model_folder,
          &o.device.cudnn_plans,
          &o.convolution.best_of_file,
          &o.encryption.key_file,
          &o.federation.identity_key_file,
          &o.checkpoint.folder,
          &o.output.model,
          &o.output.history,
          &o.output.report,
          &o.output.tensorboard};
}

DType ElementTypeOf(const RunOptions& options) {
  return options.network.dtype.value_or(DType::kFloat32);
}

TensorFormat FormatOf(const RunOptions& options) {
  const std::string& format = options.network.format;
  if (format.empty() || format == kAutoFormat) {
    return FastestFormat(options.device.gpu, options.device.math_mode);
  }
  return format == "NCHW" ? TensorFormat::kNCHW : TensorFormat::kNHWC;
}

absl::StatusOr<int64_t> BatchSizePerRank(const RunOptions& options, int64_t ranks) {
  if (!options.training.global_batch) return options.training.batch.value_or(kDefaultBatchSize);
  const int64_t size = *options.training.global_batch;
  if (size % ranks != 0) {
    return UsageError("RunOptions::training.global_batch=", size,
                      ": must be a multiple of the number of ranks, ", ranks);
  }
  return size / ranks;
}

double InitialLearningRate(const RunOptions& options, int64_t ranks) {
  const double rate = options.optimizer.learning_rate;
  switch (options.optimizer.learning_rate_scaling) {
    case RateScaling::kNone:
      return rate;
    case RateScaling::kDivide:
      return rate / double(ranks);
    case RateScaling::kMultiply:
      return rate * double(ranks);
  }
  return rate;
}

std::string TrainPath(const RunOptions& options) {
  return PathOf(options, options.data.train_path);
}

std::string TestPath(const RunOptions& options) { return PathOf(options, options.data.test_path); }

bool Resumes(const RunOptions& options) { return options.checkpoint.resume != Resume::kNo; }

bool ReadsTraining(const RunOptions& options) {
  return !options.training.evaluate_only ||
         options.data.standardize.value_or(
             false);  // whose mean and deviation are of the training split
}

bool ReadsTest(const RunOptions& options) {
  return options.training.evaluate || options.training.evaluate_only ||
         options.data.test_as_validation;
}

bool HasClassWeightsFile(const RunOptions& options) {
  return options.training.class_weights.ends_with(".txt");
}

absl::StatusOr<std::vector<double>> ClassWeightsOf(const RunOptions& options) {
  std::vector<double> weights;
  const std::string& text = options.training.class_weights;
  if (text.empty() || text == "balanced" || HasClassWeightsFile(options)) return weights;
  for (const absl::string_view word : absl::StrSplit(absl::string_view(text), ',')) {
    const std::optional<double> weight = NumberIn<double>({word.data(), word.size()});
    if (!weight || !std::isfinite(*weight) || *weight < 0) {
      return UsageError("RunOptions::training.class_weights=", OneLine(text, 80), ": \"",
                        OneLine(std::string(word), 80),
                        "\" is not a weight; expected balanced, or a number from 0 on for each "
                        "class, such as 1,2.5,1, or the name of a file of them, which ends in "
                        ".txt");
    }
    weights.push_back(*weight);
  }
  if (std::ranges::max(weights) == 0) {
    return UsageError("RunOptions::training.class_weights=", OneLine(text, 80),
                      ": all are 0, so there is nothing to learn");
  }
  return weights;
}

absl::StatusOr<DatasetPart> DatasetPartOf(const RunOptions& options) {
  const std::string_view text = options.data.part;
  if (text.empty()) return DatasetPart{};
  const size_t at = std::min(text.find('@'), text.size());
  const size_t slash = std::min(text.find('/'), at);
  const std::optional<int64_t> part = NumberIn<int64_t>(text.substr(0, slash));
  const std::optional<int64_t> parts =
      NumberIn<int64_t>(text.substr(0, at).substr(std::min(slash + 1, at)));
  if (!part || !parts || *part < 1 || *part > *parts || *parts > kMostParts) {
    return UsageError("RunOptions::data.part=", OneLine(text, 80),
                      ": must be K/N, the K-th of N parts, with 1 <= K <= N <= ", kMostParts,
                      ", or K/N@DIVISION");
  }
  return DatasetPart{.part = *part, .parts = *parts};
}

absl::StatusOr<int64_t> BucketBytes(const RunOptions& options) {
  constexpr double kMost = 1e6;
  if (absl::EqualsIgnoreCase(options.sync.bucket_mb, "auto")) return 0;
  const std::optional<double> megabytes = NumberIn<double>(options.sync.bucket_mb);
  if (!megabytes || !(*megabytes > 0) || *megabytes > kMost) {
    return UsageError("RunOptions::sync.bucket_mb=", options.sync.bucket_mb,
                      ": must be auto or a number > 0 and <= ", kMost);
  }
  return std::max<int64_t>(1, int64_t(*megabytes * (1 << 20)));
}

}  // namespace dtnn
