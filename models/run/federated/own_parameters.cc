#include "models/run/federated/own_parameters.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "absl/strings/escaping.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/text/number.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

constexpr char kBefore[] = "before", kTrained[] = "trained";  // arrays
constexpr char kModel[] = "__model__", kPatterns[] = "__patterns__", kRound[] = "__round__";

std::string NameOf(const federation::ModelFacts& model) {
  const auto hex = [](const Hash& hash) {
    return absl::BytesToHexString({reinterpret_cast<const char*>(hash.data()), hash.size()});
  };
  return hex(model.network) + hex(model.local);
}

absl::StatusOr<std::vector<float>> ReadNumbers(ArrayFileReader& file, const char* name,
                                               size_t size) {
  const auto damaged = [&] {
    return DataLoss(file.file(), ": has no array \"", name, "\" of ", size,
                    " finite numbers; is it damaged?");
  };
  const absl::StatusOr<Shape> shape = file.ReadShape(name);
  if (!shape.ok() || *shape != Shape{int64_t(size)}) return damaged();
  DTNN_ASSIGN_OR_RETURN(const Tensor tensor, file.Read(name));
  if (tensor.dtype() != DType::kFloat32) return damaged();
  const std::span<const float> numbers(tensor.data<float>(), size);
  if (!std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); })) return damaged();
  return std::vector<float>(numbers.begin(), numbers.end());
}

absl::StatusOr<Tensor> TensorOf(std::span<const float> numbers) {
  DTNN_ASSIGN_OR_RETURN(Tensor tensor,
                        Tensor::Zeros(DType::kFloat32, Shape{int64_t(numbers.size())}));
  std::ranges::copy(numbers, tensor.data<float>());
  return tensor;
}

}  // namespace

absl::StatusOr<OwnParameters> OwnParameters::Create(const RunOptions& options,
                                                    const federation::ModelFacts& model,
                                                    std::vector<float> initial) {
  const std::string& folder = options.checkpoint.folder;
  OwnParameters own(folder.empty() ? "" : folder + "/local-parameters.npz", NameOf(model),
                    options.federation.local_parameters, std::move(initial));
  if (!folder.empty()) DTNN_RETURN_IF_ERROR(own.Load(options.checkpoint.resume));
  return own;
}

absl::Status OwnParameters::Load(Resume resume) {
  std::error_code error;
  const bool there = std::filesystem::exists(path_, error);
  if (resume == Resume::kNo) {
    if (!there) return absl::OkStatus();
    return FailedPrecondition(path_,
                              ": is of another run of a client; continue with it by "
                              "RunOptions::checkpoint.resume, or give another folder");
  }
  if (!there) {
    if (resume == Resume::kIfThere) return absl::OkStatus();
    return NotFound("RunOptions::checkpoint.resume: there is no ", path_,
                    "; RunOptions::checkpoint.resume=if-there begins with new parameters then");
  }
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path_));
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> model, file.Text(kModel));
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> patterns, file.Text(kPatterns));
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> round, file.Text(kRound));
  const int64_t number = NumberIn<int64_t>(round.value_or("")).value_or(-1);
  if (!model || !patterns || number < 0) {
    return DataLoss(path_, ": holds no parameters of a client; is it damaged?");
  }
  if (*model != model_) {
    return FailedPrecondition(
        path_, ": is of another network, or of RunOptions::federation.local_parameters=",
        OneLine(*patterns, 200), "; this run has ", OneLine(patterns_, 200),
        ". Give the options that it began with, or another folder");
  }
  const size_t size = parameters_.size();
  DTNN_ASSIGN_OR_RETURN(std::vector<float> before, ReadNumbers(file, kBefore, size));
  parameters_.Keep(0, std::move(before));
  parameters_.Accept(0);
  if (number > 0) {
    DTNN_ASSIGN_OR_RETURN(std::vector<float> trained, ReadNumbers(file, kTrained, size));
    parameters_.Keep(0, std::move(trained));
  }
  round_ = number;
  resumed_from_ = path_;
  return absl::OkStatus();
}

absl::StatusOr<std::span<const float>> OwnParameters::Begin(const federation::RoundTask& task,
                                                            std::optional<bool> accepted) {
  if (round_ > 0) {
    const int64_t done = task.over ? task.round : task.round - 1;
    const bool counts = round_ <= done && accepted.value_or(true);
    if (counts) parameters_.Accept(0);
    round_ = 0;
    if (!counts) DTNN_RETURN_IF_ERROR(Write());
  }
  return parameters_.Begin(0);
}

absl::Status OwnParameters::Keep(int64_t round, std::vector<float> trained) {
  parameters_.Keep(0, std::move(trained));
  round_ = round;
  return Write();
}

absl::Status OwnParameters::Write() const {
  if (path_.empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const Tensor before, TensorOf(parameters_.Begin(0)));
  NamedTensors arrays = {{kBefore, before}};
  if (round_ > 0) {
    DTNN_ASSIGN_OR_RETURN(const Tensor trained, TensorOf(parameters_.Trained(0)));
    arrays.emplace_back(kTrained, trained);
  }
  return WriteArrayFile(path_, arrays,
                        {{kModel, model_}, {kPatterns, patterns_}, {kRound, StrCat(round_)}});
}

}  // namespace dtnn
