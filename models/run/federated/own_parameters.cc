#include "models/run/federated/own_parameters.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>

#include "absl/strings/escaping.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/text/number.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

constexpr char kBefore[] = "before", kTrained[] = "trained";  // arrays
constexpr char kClient[] = "__client__", kModel[] = "__model__", kPatterns[] = "__patterns__",
               kRound[] = "__round__", kNonce[] = "__nonce__", kAttempt[] = "__attempt__",
               kUsed[] = "__used__";

std::string HexOf(std::span<const uint8_t> bytes) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string NameOf(const federation::ModelFacts& model) {
  return HexOf(model.network) + HexOf(model.local);
}

// Whether an update is used.
constexpr std::string_view kNotKnown = "not known", kYes = "yes", kNo = "no";
std::string_view TextOf(std::optional<bool> used) { return !used ? kNotKnown : *used ? kYes : kNo; }

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

absl::StatusOr<OwnParameters> OwnParameters::Create(const RunOptions& options, std::string client,
                                                    const federation::ModelFacts& model,
                                                    std::vector<float> initial, const Kind& kind) {
  const std::string& folder = options.checkpoint.folder;
  OwnParameters own(kind, folder.empty() ? "" : StrCat(folder, "/", kind.file), std::move(client),
                    NameOf(model), options.federation.local_parameters, std::move(initial));
  if (!folder.empty()) DTNN_RETURN_IF_ERROR(own.Load(options.checkpoint.resume));
  return own;
}

absl::Status OwnParameters::Load(Resume resume) {
  std::error_code error;
  const bool there = std::filesystem::exists(path_, error);
  if (kind_.in_any_round && (!there || resume == Resume::kNo)) return absl::OkStatus();
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
  std::map<std::string_view, std::string> texts;
  for (const char* const name : {kClient, kModel, kPatterns, kRound, kNonce, kAttempt, kUsed}) {
    DTNN_ASSIGN_OR_RETURN(std::optional<std::string> text, file.Text(name));
    if (!text) return DataLoss(path_, ": holds no parameters of a client; is it damaged?");
    texts[name] = *std::move(text);
  }
  const std::string nonce = absl::HexStringToBytes(texts[kNonce]);
  Trained trained = {
      .round = NumberIn<int64_t>(texts[kRound]).value_or(-1),
      .attempt = {.number = NumberIn<uint64_t>(texts[kAttempt]).value_or(0)},
  };
  if (texts[kUsed] != kNotKnown) trained.used = texts[kUsed] == kYes;
  if (trained.round < 0 || nonce.size() != trained.attempt.nonce.size()) {
    return DataLoss(path_, ": holds no parameters of a client; is it damaged?");
  }
  std::ranges::copy(nonce, trained.attempt.nonce.begin());
  if (texts[kClient] != client_) {
    return FailedPrecondition(path_, ": is of the client ", OneLine(texts[kClient], 200),
                              ", this one is ", client_,
                              ". Give the folder of this client, or, where it is the same client, "
                              "its name by RunOptions::federation.client_name");
  }
  if (texts[kModel] != model_) {
    return FailedPrecondition(
        path_, ": is of another network, or of RunOptions::federation.local_parameters=",
        OneLine(texts[kPatterns], 200), "; this run has ", OneLine(patterns_, 200),
        ". Give the options that it began with, or another folder");
  }
  const size_t size = parameters_.size();
  DTNN_ASSIGN_OR_RETURN(std::vector<float> before, ReadNumbers(file, kBefore, size));
  parameters_.Keep(0, std::move(before));
  parameters_.Accept(0);
  if (trained.round > 0) {
    DTNN_ASSIGN_OR_RETURN(std::vector<float> after, ReadNumbers(file, kTrained, size));
    parameters_.Keep(0, std::move(after));
  }
  trained_ = trained;
  resumed_from_ = path_;
  return absl::OkStatus();
}

// An aggregator that was killed may do a round again that it had not saved, without this client.
bool OwnParameters::Counts(const federation::RoundTask& task) const {
  const int64_t done = task.over ? task.round : task.round - 1;
  if (trained_.round > done) return false;
  const bool is_known = task.made_by != federation::AttemptId();
  if (trained_.round == done && is_known && trained_.attempt != task.made_by) return false;
  return trained_.used.value_or(true);
}

// In round 1 no earlier one has left anything.
absl::Status OwnParameters::BeginFederation() {
  const std::span<const float> left = parameters_.Begin(0);
  if (trained_.round == 0 && std::ranges::all_of(left, [](float x) { return x == 0; })) {
    return absl::OkStatus();
  }
  parameters_.Keep(0, std::vector<float>(left.size()));
  parameters_.Accept(0);
  trained_ = {};
  return Write();
}

absl::StatusOr<std::span<const float>> OwnParameters::Begin(const federation::RoundTask& task) {
  if (kind_.of_one_federation && task.round == 1 && !task.over) {
    DTNN_RETURN_IF_ERROR(BeginFederation());
  }
  if (trained_.round > 0) {
    const bool counts = Counts(task);
    if (counts) parameters_.Accept(0);
    trained_ = {};
    if (!counts) DTNN_RETURN_IF_ERROR(Write());
  }
  return parameters_.Begin(0);
}

absl::Status OwnParameters::Keep(const federation::RoundTask& task, std::vector<float> trained) {
  parameters_.Keep(0, std::move(trained));
  trained_ = {.round = task.round, .attempt = task.attempt, .used = false};
  return Write();
}

absl::Status OwnParameters::SetUsed(const federation::AttemptId& attempt,
                                    std::optional<bool> used) {
  if (trained_.round == 0 || trained_.attempt != attempt || trained_.used == used) {
    return absl::OkStatus();
  }
  trained_.used = used;
  return Write();
}

absl::Status OwnParameters::Write() const {
  if (path_.empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const Tensor before, TensorOf(parameters_.Begin(0)));
  NamedTensors arrays = {{kBefore, before}};
  if (trained_.round > 0) {
    DTNN_ASSIGN_OR_RETURN(const Tensor trained, TensorOf(parameters_.Trained(0)));
    arrays.emplace_back(kTrained, trained);
  }
  return WriteArrayFile(path_, arrays,
                        {{kClient, client_},
                         {kModel, model_},
                         {kPatterns, patterns_},
                         {kRound, StrCat(trained_.round)},
                         {kNonce, HexOf(trained_.attempt.nonce)},
                         {kAttempt, StrCat(trained_.attempt.number)},
                         {kUsed, std::string(TextOf(trained_.used))}});
}

}  // namespace dtnn
