#include "apps/rounds/round_state.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "apps/rounds/round_identity.h"
#include "models/checkpoint/checkpoint.h"
#include "models/checkpoint/federation_tags.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

using federation::FederationState;
using federation::Moments;

// As checkpoints call the optimizer of their run; and the owner of counts and of moments in them.
constexpr char kOptimizer[] = "federation";
constexpr char kCounts[] = "federation", kClip[] = "federation-clip", kFirst[] = "federation-first",
               kSecond[] = "federation-second", kControl[] = "federation-control";
constexpr char kModelPrivacy[] = "federation-privacy-model",
               kAggregatorPrivacy[] = "federation-privacy-aggregator";
constexpr char kSum[] = "sum";
// The texts of the file of an encrypted sum.
constexpr char kRounds[] = "__rounds__", kAttempts[] = "__attempts__", kAttempt[] = "__attempt__",
               kNonce[] = "__nonce__", kClients[] = "__clients__", kDivisor[] = "__divisor__",
               kKey[] = "__key__", kOptions[] = "__options__";

template <typename T>
absl::StatusOr<T> ReadNumber(ArrayFileReader& file, const char* name) {
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> text, file.Text(name));
  const std::optional<T> number = text ? NumberIn<T>(*text) : std::nullopt;
  if (!number) return DataLoss(file.file(), ": has no number ", name, "; is it damaged?");
  return *number;
}

absl::Status CheckSettings(ArrayFileReader& file, const RoundSettings& settings) {
  for (const auto& [name, what, ours] :
       {std::tuple(kStrategyTag, "the strategy", settings.strategy),
        std::tuple(kProtectionTag, "clients whose updates have", settings.protection)}) {
    DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> theirs, file.Text(name));
    if (!theirs) return DataLoss(file.file(), ": is not the state of a federation");
    if (*theirs == ours) continue;
    return FailedPrecondition(file.file(), ": is the state of a federation with ", what, " ",
                              Quoted(*theirs), "; this one has ", Quoted(ours),
                              ". Give the options that it began with, or begin a new one in "
                              "another folder");
  }
  return absl::OkStatus();
}

NamedTexts TextsOf(const RoundSettings& settings) {
  return {{kStrategyTag, settings.strategy}, {kProtectionTag, settings.protection}};
}

template <size_t n>
absl::StatusOr<std::array<uint8_t, n>> ReadHex(ArrayFileReader& file, const char* name) {
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> hex, file.Text(name));
  const std::string bytes = absl::HexStringToBytes(hex.value_or(""));
  std::array<uint8_t, n> array{};
  if (bytes.size() != n) return DataLoss(file.file(), ": has no ", name, "; is it damaged?");
  std::ranges::copy(bytes, array.begin());
  return array;
}

std::string HexOf(std::span<const uint8_t> bytes) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// The privacy that is spent, for each order of an accountant.
absl::StatusOr<Tensor> TensorOf(const federation::RenyiAccountant& accountant) {
  const std::vector<double>& spent = accountant.spent();
  DTNN_ASSIGN_OR_RETURN(Tensor tensor,
                        Tensor::Zeros(DType::kFloat64, Shape{int64_t(spent.size())}));
  std::ranges::copy(spent, tensor.data<double>());
  return tensor;
}

}  // namespace

absl::StatusOr<FederationState> RoundState::Begin(Resumption resumption,
                                                  std::vector<std::string>& warnings) {
  const bool resume = resumption != Resumption::kNo;
  FederationState state;
  if (!folder_name_.empty()) {
    std::error_code ignored;
    if (resumption == Resumption::kMust && std::filesystem::status(folder_name_, ignored).type() ==
                                               std::filesystem::file_type::not_found) {
      return FailedPrecondition("--resume: ", folder_name_,
                                " does not exist; --resume=if-there begins a new federation then");
    }
    DTNN_ASSIGN_OR_RETURN(warnings, WithContext(folder_.Prepare(resume), "--checkpoint-dir"));
    std::error_code error;
    for (const std::string& path : {EncryptedPath(), LedgerPath()}) {
      if (resume || !std::filesystem::exists(path, error)) continue;
      return FailedPrecondition("--checkpoint-dir: ", path,
                                ": is of another federation; continue it with --resume, or give "
                                "another folder");
    }
    if (resume) {
      DTNN_ASSIGN_OR_RETURN(state, std::filesystem::exists(EncryptedPath(), error)
                                       ? LoadEncrypted(warnings)
                                       : LoadCheckpoint(resumption, warnings));
      DTNN_RETURN_IF_ERROR(LoadLedger(state));
    }
  }
  if (!state.from.encrypted) {
    state.parameters.resize(exchanged_.values());
    exchanged_.Get(store_, state.parameters);
  }
  return state;
}

absl::StatusOr<FederationState> RoundState::LoadCheckpoint(Resumption resumption,
                                                           std::vector<std::string>& warnings) {
  FederationState state;
  absl::StatusOr<CheckpointFolder::Latest> latest =
      folder_.Newest(graph_, store_, context_, kOptimizer);
  if (absl::IsNotFound(latest.status())) {
    std::error_code error;  // of a federation that has begun its first round
    if (resumption == Resumption::kMust && !std::filesystem::exists(LedgerPath(), error)) {
      return FailedPrecondition(
          "--resume: ", folder_name_,
          " contains no round; --resume=if-there begins a new federation then");
    }
    warnings.push_back(StrCat(folder_name_, ": contains no round; a new federation begins"));
    return state;
  }
  DTNN_RETURN_IF_ERROR(latest.status());
  warnings.insert(warnings.end(), latest->warnings.begin(), latest->warnings.end());
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader texts, ArrayFileReader::Open(latest->path));
  DTNN_RETURN_IF_ERROR(CheckSettings(texts, settings_));
  const RunState& run = latest->checkpoint.run();
  DTNN_RETURN_IF_ERROR(CompareIdentity(latest->path, run.identity, settings_.identity, warnings));
  DTNN_RETURN_IF_ERROR(latest->checkpoint.Apply(store_, context_));
  state.rounds_done = run.training.epoch;
  const auto counts = run.training.schedulers.find(kCounts);
  if (counts == run.training.schedulers.end() || counts->second.size() != 2) {
    return DataLoss(latest->path, ": is not of a federation");
  }
  state.attempts = uint64_t(counts->second[0]);
  state.moments.updates = int64_t(counts->second[1]);
  if (const auto clip = run.training.schedulers.find(kClip);
      clip != run.training.schedulers.end() && clip->second.size() == 1) {
    state.clip = clip->second[0];
  }
  const size_t trainable = exchanged_.trainable();
  for (const auto& [owner, moment] :
       {std::pair(kFirst, &state.moments.first), std::pair(kSecond, &state.moments.second),
        std::pair(kControl, &state.control)}) {
    const auto kept = run.kept.find(owner);
    if (kept == run.kept.end()) continue;
    moment->assign(kept->second.data<float>(), kept->second.data<float>() + trainable);
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> aside, folder_.SetAsideAfter(latest->steps));
  warnings.insert(warnings.end(), aside.begin(), aside.end());
  return state;
}

absl::Status RoundState::SaveLedger(const FederationState& state) const {
  if (folder_name_.empty()) return absl::OkStatus();
  NamedTexts texts = TextsOf(settings_);
  texts.emplace_back(kAttempts, StrCat(state.attempts));
  DTNN_ASSIGN_OR_RETURN(const Tensor model, TensorOf(state.privacy.model()));
  DTNN_ASSIGN_OR_RETURN(const Tensor aggregator, TensorOf(state.privacy.aggregator()));
  return WriteArrayFile(LedgerPath(), {{kModelPrivacy, model}, {kAggregatorPrivacy, aggregator}},
                        texts);
}

// It is never older than the state, and counts what was begun since.
absl::Status RoundState::LoadLedger(FederationState& state) const {
  if (!settings_.is_private) return absl::OkStatus();
  std::error_code error;
  if (!std::filesystem::exists(LedgerPath(), error)) {
    if (state.rounds_done == 0) return absl::OkStatus();
    return FailedPrecondition(LedgerPath(), ": is missing. It says what ", state.rounds_done,
                              " rounds with differential privacy have cost clients; without it "
                              "epsilon would be too small. Begin a new federation in another "
                              "folder");
  }
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(LedgerPath()));
  DTNN_RETURN_IF_ERROR(CheckSettings(file, settings_));
  DTNN_ASSIGN_OR_RETURN(const uint64_t attempts, ReadNumber<uint64_t>(file, kAttempts));
  state.attempts = std::max(state.attempts, attempts);
  for (const auto& [name, accountant] :
       {std::pair(kModelPrivacy, &state.privacy.model()),
        std::pair(kAggregatorPrivacy, &state.privacy.aggregator())}) {
    DTNN_ASSIGN_OR_RETURN(const Tensor spent, file.Read(name));
    if (spent.dtype() == DType::kFloat64 &&
        accountant->Restore({spent.data<double>(), spent.data<double>() + spent.num_elements()})) {
      continue;
    }
    return DataLoss(file.file(), ": holds no account of differential privacy; is it damaged?");
  }
  return absl::OkStatus();
}

absl::Status RoundState::Save(const FederationState& state) {
  if (state.from.encrypted) {
    if (folder_name_.empty()) return absl::OkStatus();
    if (settings_.is_private) DTNN_RETURN_IF_ERROR(SaveLedger(state));
    return SaveEncrypted(state);
  }
  exchanged_.Set(state.parameters, store_);
  if (folder_name_.empty()) return absl::OkStatus();
  if (settings_.is_private) DTNN_RETURN_IF_ERROR(SaveLedger(state));
  RunState run = {
      .optimizer = kOptimizer, .identity = settings_.identity, .tags = TextsOf(settings_)};
  run.training.epoch = run.training.steps_done = state.rounds_done;
  run.training.random_seed = seed_;
  run.training.schedulers[kCounts] = {double(state.attempts), double(state.moments.updates)};
  if (state.clip > 0) run.training.schedulers[kClip] = {state.clip};
  for (const auto& [owner, moment] :
       {std::pair(kFirst, &state.moments.first), std::pair(kSecond, &state.moments.second),
        std::pair(kControl, &state.control)}) {
    if (moment->empty()) continue;
    DTNN_ASSIGN_OR_RETURN(Tensor arena,
                          Tensor::Zeros(DType::kFloat32, store_.all_values().shape()));
    std::ranges::copy(*moment, arena.data<float>());
    run.kept[owner] = std::move(arena);
  }
  return folder_.Save(graph_, store_, context_, run).status();
}

absl::Status RoundState::SaveEncrypted(const FederationState& state) const {
  const size_t bytes = state.encrypted.empty() ? 0 : state.encrypted[0].size();
  DTNN_ASSIGN_OR_RETURN(const Tensor sum,
                        Tensor::Allocate(Device::Cpu(), DType::kUint8,
                                         Shape{int64_t(state.encrypted.size()), int64_t(bytes)}));
  auto* to = static_cast<uint8_t*>(static_cast<void*>(sum.raw_data()));
  for (const federation::Bytes& chunk : state.encrypted) {
    if (chunk.size() != bytes) return absl::InternalError("chunks of a sum differ in length");
    to = std::ranges::copy(chunk, to).out;
  }
  NamedTexts texts = TextsOf(settings_);
  texts.insert(texts.end(), {{kOptions, TextOf(settings_.identity)},
                             {kRounds, StrCat(state.rounds_done)},
                             {kAttempts, StrCat(state.attempts)},
                             {kAttempt, StrCat(state.from.attempt)},
                             {kNonce, HexOf(state.from.nonce)},
                             {kKey, HexOf(state.key)},
                             {kClients, StrCat(state.from.clients)},
                             {kDivisor, absl::StrFormat("%.17g", state.from.divisor)}});
  return WriteArrayFile(EncryptedPath(), {{kSum, sum}}, texts);
}

absl::StatusOr<FederationState> RoundState::LoadEncrypted(
    std::vector<std::string>& warnings) const {
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(EncryptedPath()));
  DTNN_RETURN_IF_ERROR(CheckSettings(file, settings_));
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> options, file.Text(kOptions));
  std::optional<RunIdentity> was;
  if (options) was = IdentityOf(*options);
  DTNN_RETURN_IF_ERROR(CompareIdentity(EncryptedPath(), was, settings_.identity, warnings));
  FederationState state;
  state.from.encrypted = true;
  DTNN_ASSIGN_OR_RETURN(state.rounds_done, ReadNumber<int64_t>(file, kRounds));
  DTNN_ASSIGN_OR_RETURN(state.attempts, ReadNumber<uint64_t>(file, kAttempts));
  DTNN_ASSIGN_OR_RETURN(state.from.attempt, ReadNumber<uint64_t>(file, kAttempt));
  DTNN_ASSIGN_OR_RETURN(state.from.clients, ReadNumber<uint32_t>(file, kClients));
  DTNN_ASSIGN_OR_RETURN(state.from.divisor, ReadNumber<double>(file, kDivisor));
  DTNN_ASSIGN_OR_RETURN(state.from.nonce, ReadHex<sizeof(federation::RunNonce)>(file, kNonce));
  DTNN_ASSIGN_OR_RETURN(state.key, ReadHex<sizeof(federation::KeyName)>(file, kKey));
  DTNN_ASSIGN_OR_RETURN(const Tensor sum, file.Read(kSum));
  if (sum.dtype() != DType::kUint8 || sum.shape().rank() != 2 || state.rounds_done < 1) {
    return DataLoss(file.file(), ": holds no encrypted sum; is it damaged?");
  }
  const auto* from = static_cast<const uint8_t*>(static_cast<const void*>(sum.raw_data()));
  const size_t bytes = size_t(sum.shape()[1]);
  for (int64_t chunk = 0; chunk < sum.shape()[0]; ++chunk, from += bytes) {
    state.encrypted.emplace_back(from, from + bytes);
  }
  return state;
}

}  // namespace dtnn
