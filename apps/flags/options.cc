#include "apps/flags/options.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "comm/job/exit_code.h"
#include "kernels/fastest_format.h"
#include "kernels/math_mode.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

constexpr int64_t kDefaultBatchSize = 64;
constexpr int64_t kMostParts = 1'000'000;

std::string PathOf(const Options& options, const std::string& part) {
  if (!part.empty()) return part;
  if (!options.dataset_path.empty()) return options.dataset_path;
  // With a path for one split, the other is nowhere rather than where a default is.
  const bool nowhere = options.dataset_train_path.empty() && options.dataset_test_path.empty();
  return nowhere && options.dataset == "mnist" ? kFashionMnistPath : "";
}

}  // namespace

DType ElementTypeOf(const Options& options) {
  return options.dtype == "float64" ? DType::kFloat64 : DType::kFloat32;
}

TensorFormat FormatOf(const Options& options) {
  if (options.tensor_format == "AUTO") {
    return FastestFormat(options.enable_gpu,
                         ParseMathMode(options.math_mode).value_or(MathMode::kFp32));
  }
  return options.tensor_format == "NCHW" ? TensorFormat::kNCHW : TensorFormat::kNHWC;
}

absl::StatusOr<int64_t> BatchSizePerRank(const Options& options, int64_t ranks) {
  if (!options.global_batch_size) return options.batch_size.value_or(kDefaultBatchSize);
  const int64_t size = *options.global_batch_size;
  if (size % ranks != 0) {
    return UsageError("--global-batch-size=", size, ": must be a multiple of the number of ranks, ",
                      ranks);
  }
  return size / ranks;
}

double InitialLearningRate(const Options& options, int64_t ranks) {
  if (options.learning_rate_scaling == "False") return options.learning_rate;
  const bool multiply = options.learning_rate_scaling == "multiply";
  return multiply ? options.learning_rate * double(ranks) : options.learning_rate / double(ranks);
}

std::string TrainPath(const Options& options) {
  return PathOf(options, options.dataset_train_path);
}

std::string TestPath(const Options& options) { return PathOf(options, options.dataset_test_path); }

bool Resumes(const Options& options) { return options.resume != "False"; }

bool ReadsTraining(const Options& options) {
  return !options.evaluate_only ||
         options.standardize;  // whose mean and deviation are of the training split
}

bool ReadsTest(const Options& options) {
  return options.evaluate || options.evaluate_only || options.test_as_validation;
}

absl::StatusOr<std::vector<double>> ClassWeightsOf(const Options& options) {
  std::vector<double> weights;
  const std::string& text = options.class_weights;
  if (text.empty() || text == "balanced") return weights;
  for (const absl::string_view word : absl::StrSplit(absl::string_view(text), ',')) {
    const std::optional<double> weight = NumberIn<double>({word.data(), word.size()});
    if (!weight || !std::isfinite(*weight) || *weight < 0) {
      return UsageError("--class-weights=", OneLine(text, 80), ": \"",
                        OneLine(std::string(word), 80),
                        "\" is not a weight; expected balanced, or a number from 0 on for each "
                        "class, such as 1,2.5,1");
    }
    weights.push_back(*weight);
  }
  if (std::ranges::max(weights) == 0) {
    return UsageError("--class-weights=", OneLine(text, 80),
                      ": all are 0, so there is nothing to learn");
  }
  return weights;
}

absl::StatusOr<DatasetPart> DatasetPartOf(const Options& options) {
  const std::string_view text = options.dataset_part;
  if (text.empty()) return DatasetPart{};
  const size_t slash = std::min(text.find('/'), text.size());
  const std::optional<int64_t> part = NumberIn<int64_t>(text.substr(0, slash));
  const std::optional<int64_t> parts =
      NumberIn<int64_t>(text.substr(std::min(slash + 1, text.size())));
  if (!part || !parts || *part < 1 || *part > *parts || *parts > kMostParts) {
    return UsageError("--dataset-part=", OneLine(text, 80),
                      ": must be K/N, the K-th of N parts, with 1 <= K <= N <= ", kMostParts);
  }
  return DatasetPart{.part = *part, .parts = *parts};
}

absl::StatusOr<int64_t> BucketBytes(const Options& options) {
  constexpr double kMost = 1e6;
  if (absl::EqualsIgnoreCase(options.comm_bucket_mb, "auto")) return 0;
  const std::optional<double> megabytes = NumberIn<double>(options.comm_bucket_mb);
  if (!megabytes || !(*megabytes > 0) || *megabytes > kMost) {
    return UsageError("--comm-bucket-mb=", options.comm_bucket_mb,
                      ": must be auto or a number > 0 and <= ", kMost);
  }
  return std::max<int64_t>(1, int64_t(*megabytes * (1 << 20)));
}

}  // namespace dtnn
